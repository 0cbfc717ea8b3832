//! Groups of nodes of a directed graph that all reach each other.

/// The strongly connected components with more than one node, each sorted, ordered by their first node.
///
/// `edges[a]` lists the successors of `a`. Searches once from each node, which is fast enough for the files of a crate.
pub(super) fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let reachable: Vec<Vec<bool>> = (0..edges.len()).map(|start| reachable(edges, start)).collect();
    let mut is_placed = vec![false; edges.len()];
    let mut found = Vec::new();
    for start in 0..edges.len() {
        let is_member = |&node: &usize| node == start || (reachable[start][node] && reachable[node][start]);
        let members: Vec<usize> = (start..edges.len()).filter(is_member).collect();
        if members.len() > 1 && !is_placed[start] {
            members.iter().for_each(|&node| is_placed[node] = true);
            found.push(members);
        }
    }
    found
}

fn reachable(edges: &[Vec<usize>], start: usize) -> Vec<bool> {
    let mut is_reached = vec![false; edges.len()];
    let mut pending = edges[start].clone();
    while let Some(node) = pending.pop() {
        if !is_reached[node] {
            is_reached[node] = true;
            pending.extend(&edges[node]);
        }
    }
    is_reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_without_cycles_has_no_components() {
        assert!(components(&[vec![1, 2], vec![2], vec![]]).is_empty());
        assert!(components(&[vec![0]]).is_empty());
    }

    #[test]
    fn each_cycle_is_one_component() {
        let edges = [vec![1], vec![2], vec![0, 3], vec![4], vec![3]];
        assert_eq!(components(&edges), [vec![0, 1, 2], vec![3, 4]]);
    }

    #[test]
    fn cycles_that_share_a_node_are_one_component() {
        assert_eq!(components(&[vec![1], vec![0, 2], vec![1]]), [[0, 1, 2]]);
    }
}

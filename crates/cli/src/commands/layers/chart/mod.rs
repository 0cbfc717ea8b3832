//! Bar charts as SVG, PNG or HTML: stacked bars, one per row, in panels side by side.

mod svg;

pub(crate) use svg::SERIES_MAX;

use crate::render::chart_format::ChartFormat;
use crate::render::page::page;
use crate::render::png;
use crate::render::table::Table;
use crate::user_error::UserError;

/// The data of a chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// Names of the parts of a bar.
    pub(crate) series: Vec<String>,
    /// Labels of the bars.
    pub(crate) rows: Vec<String>,
    pub(crate) panels: Vec<Panel>,
}

/// One bar per row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Panel {
    pub(crate) title: String,
    /// The parts of each bar in nanoseconds, one per series.
    pub(crate) bars: Vec<Vec<i64>>,
}

impl Panel {
    /// Returns the length of a bar.
    fn sum(&self, row: usize) -> i64 {
        self.bars[row].iter().fold(0, |sum: i64, &part| sum.saturating_add(part.max(0)))
    }

    /// Returns the length of the longest bar.
    fn longest(&self) -> i64 {
        (0..self.bars.len()).map(|row| self.sum(row)).max().unwrap_or(0)
    }
}

impl Chart {
    /// Returns the contents of the file. HTML has the table as well.
    pub(crate) fn render(&self, format: ChartFormat, table: &Table) -> Result<Vec<u8>, UserError> {
        match format {
            ChartFormat::Svg => Ok(svg::document(self).into_bytes()),
            ChartFormat::Png => png::render(&svg::document(self)),
            ChartFormat::Html => Ok(page(&self.title, &svg::document(self), table).into_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::table::Column;

    fn chart() -> Chart {
        Chart {
            title: "a <trace> & more.json".to_owned(),
            subtitle: "self time".to_owned(),
            series: vec!["attn".to_owned(), "\"mlp\"".to_owned()],
            rows: (0..80).map(|layer| layer.to_string()).collect(),
            panels: vec![
                Panel { title: "prefill".to_owned(), bars: vec![vec![2_000_000, 1_000_000]; 80] },
                Panel { title: "decode".to_owned(), bars: vec![vec![0, 0]; 80] },
            ],
        }
    }

    #[test]
    fn texts_are_escaped_and_empty_bars_are_not_drawn() {
        let svg = svg::document(&chart());
        assert!(svg.contains("a &lt;trace&gt; &amp; more.json") && svg.contains("&quot;mlp&quot;"), "{svg}");
        // One per visible part, two in the legend, and the background.
        assert_eq!(svg.matches("<rect").count(), 160 + 2 + 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn a_page_has_the_chart_and_the_table() {
        let mut table = Table::new(vec![Column::number("layer"), Column::number("attn")]);
        table.push(vec!["7".to_owned(), "1 ms".to_owned()]);
        let page = String::from_utf8(chart().render(ChartFormat::Html, &table).unwrap()).unwrap();
        assert!(page.contains("<svg") && page.contains("<td>1 ms</td>"), "{page}");
        assert!(!page.contains("http:") || page.matches("http:").count() == page.matches("http://www.w3.org/").count());
    }

    #[test]
    fn an_empty_chart_can_be_drawn() {
        let svg = svg::document(&Chart { panels: vec![Panel::default()], ..Chart::default() });
        assert!(svg.ends_with("</svg>\n"), "{svg}");
    }
}

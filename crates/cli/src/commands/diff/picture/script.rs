//! The script of the page: it zooms into frames of the flame graph.

/// SHA-256 of [`SCRIPT`] in Base64. Browsers run no other script of the page.
pub(super) const SCRIPT_HASH: &str = "LBSOT9vwBzLVCuUwia/UkSFdNaV6AwvCymcTiuyUnlY=";

/// Reads and writes attributes of the picture only. It contains nothing of a trace.
pub(super) const SCRIPT: &str = r##""use strict";
(() => {
  const frames = [...document.querySelectorAll("#flame > g")].map((group) => {
    const rect = group.querySelector("rect");
    const [x, width, y] = ["x", "width", "y"].map((name) => Number(rect.getAttribute(name)));
    const name = group.querySelector("title").textContent.split("\n")[0];
    const label = group.querySelector("text");
    return { group, rect, label, name, x, width, y, text: label.textContent };
  });
  const reset = document.getElementById("reset");
  if (frames.length === 0) return;
  const [root] = frames;
  const slack = 0.01;
  const shorten = (name, width) => {
    const room = Math.floor((width - 6) / 6.7);
    if (room < 3) return "";
    return name.length <= room ? name : name.slice(0, room - 1) + "…";
  };
  const zoom = (target) => {
    const end = target.x + target.width;
    const scale = root.width / target.width;
    for (const frame of frames) {
      const frameEnd = frame.x + frame.width;
      const isAround = frame.y < target.y && frame.x <= target.x + slack && frameEnd >= end - slack;
      const isInside = frame.y >= target.y && frame.x >= target.x - slack && frameEnd <= end + slack;
      const x = isAround ? root.x : root.x + (frame.x - target.x) * scale;
      const width = isAround ? root.width : frame.width * scale;
      frame.group.setAttribute("display", isAround || isInside ? "inline" : "none");
      frame.group.classList.toggle("zoomed", isAround);
      frame.rect.setAttribute("x", x);
      frame.rect.setAttribute("width", width);
      frame.label.setAttribute("x", x + 3);
      frame.label.textContent = target === root ? frame.text : shorten(frame.name, width);
    }
    reset.hidden = target === root;
  };
  for (const frame of frames) frame.group.addEventListener("click", () => zoom(frame));
  reset.addEventListener("click", () => zoom(root));
  document.addEventListener("keydown", (event) => event.key === "Escape" && zoom(root));
})();
"##;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the SHA-256 of a text in Base64.
    fn sha256_base64(text: &str) -> String {
        let mut hash = FRACTIONS_OF_SQUARE_ROOTS;
        for block in padded(text.as_bytes()).chunks_exact(64) {
            compress(&mut hash, block);
        }
        base64(&hash.map(u32::to_be_bytes).concat())
    }

    const PRIMES: [u32; 64] = [
        2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107,
        109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223, 227, 229,
        233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311,
    ];

    /// First 32 bits of the fractions of the square roots of the first 8 primes.
    const FRACTIONS_OF_SQUARE_ROOTS: [u32; 8] =
        [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

    /// Returns the first 32 bits of the fraction of the cube root of a prime: the root of `prime << 96`, cut.
    fn cube_root_fraction(prime: u32) -> u32 {
        let mut root: u128 = 0;
        for bit in (0..36).rev() {
            let next = root | 1 << bit;
            if next * next * next <= u128::from(prime) << 96 {
                root = next;
            }
        }
        root as u32
    }

    fn padded(bytes: &[u8]) -> Vec<u8> {
        let mut padded = [bytes, &[0x80]].concat();
        padded.resize((bytes.len() + 9).next_multiple_of(64) - 8, 0);
        padded.extend((bytes.len() as u64 * 8).to_be_bytes());
        padded
    }

    fn compress(hash: &mut [u32; 8], block: &[u8]) {
        let mut words: Vec<u32> =
            block.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        for n in 16..64 {
            let (one, two) = (words[n - 15], words[n - 2]);
            let s0 = one.rotate_right(7) ^ one.rotate_right(18) ^ (one >> 3);
            let s1 = two.rotate_right(17) ^ two.rotate_right(19) ^ (two >> 10);
            words.push(words[n - 16].wrapping_add(s0).wrapping_add(words[n - 7]).wrapping_add(s1));
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *hash;
        for (word, prime) in words.into_iter().zip(PRIMES) {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let constant = cube_root_fraction(prime);
            let one = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(constant).wrapping_add(word);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let two = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(two));
        }
        for (sum, value) in hash.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(value);
        }
    }

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let encode = |group: &[u8]| {
            let value = group.iter().chain(&[0, 0]).take(3).fold(0, |value, &byte| value << 8 | usize::from(byte));
            let digit =
                |place: usize| if place > group.len() { '=' } else { DIGITS[value >> (18 - 6 * place) & 63].into() };
            [0, 1, 2, 3].map(digit)
        };
        bytes.chunks(3).flat_map(encode).collect()
    }

    #[test]
    fn the_hash_is_that_of_the_script() {
        assert_eq!(sha256_base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        assert_eq!(sha256_base64(SCRIPT), SCRIPT_HASH);
    }
}

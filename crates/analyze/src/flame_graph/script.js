"use strict";
// The first part has no access to the page, so that tests can run it anywhere. A frame is `{level, x, width, name}`;
// frames are in the order of the file, outer before inner.
const flameGraph = {
  // Returns the places of all frames with one frame as wide as the first; `null` for those that are not shown.
  zoomed(frames, index) {
    const [root, target] = [frames[0], frames[index]];
    const places = frames.map(() => null);
    let level = target.level;
    for (let at = index - 1; at >= 0; at -= 1) {
      if (frames[at].level >= level) continue;
      level = frames[at].level;
      places[at] = { x: root.x, width: root.width, isAround: true };
    }
    const scale = root.width / target.width;
    for (let at = index; at < frames.length && (at === index || frames[at].level > target.level); at += 1) {
      const { x, width } = frames[at];
      places[at] = { x: root.x + (x - target.x) * scale, width: width * scale, isAround: false };
    }
    return places;
  },

  // Returns the part of a name that fits into a width, as the writer of the file does.
  label(name, width) {
    const room = Math.floor((width - 6) / 6.7);
    if (room < 3) return "";
    let used = 0;
    let kept = "";
    let cut = "";
    for (const char of name) {
      used += char.codePointAt(0) < 0x1100 ? 1 : 2;
      if (used > room) return cut + "…";
      kept += char;
      if (used < room) cut = kept;
    }
    return name;
  },

  // Returns the indexes of the frames whose name contains a text, in any case.
  search(frames, text) {
    const wanted = text.toLowerCase();
    const found = [];
    frames.forEach((frame, at) => frame.name.toLowerCase().includes(wanted) && found.push(at));
    return found;
  },

  // Returns the share of the width of the first frame that is covered by others, each part once.
  covered(frames, indexes) {
    let [sum, level] = [0, Infinity];
    let next = 0;
    for (const index of indexes) {
      if (index < next) continue;
      ({ level } = frames[index]);
      sum += frames[index].width;
      for (next = index + 1; next < frames.length && frames[next].level > level; next += 1);
    }
    return sum / frames[0].width;
  },
};

if (typeof document !== "undefined") {
  const svg = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const frames = [...document.querySelectorAll("#flame > g")].map((group) => {
    const rect = group.querySelector("rect");
    const [x, width, y] = ["x", "width", "y"].map((name) => Number(rect.getAttribute(name)));
    const lines = group.querySelector("title").textContent.split("\n");
    const text = group.querySelector("text");
    return { group, rect, text, lines, name: lines[0], level: y, x, width };
  });
  const frameOf = new Map(frames.map((frame, index) => [frame.group, index]));
  const indexAt = (event) => frameOf.get(event.target.closest("#flame > g"));
  const show = (id, text) => (byId(id).textContent = text);

  const setLabel = (frame, x, width) => {
    const label = flameGraph.label(frame.name, width);
    if (!frame.text && label !== "") {
      frame.text = document.createElementNS(svg.namespaceURI, "text");
      frame.text.setAttribute("y", Number(frame.rect.getAttribute("y")) + 12.5);
      frame.group.append(frame.text);
    }
    if (!frame.text) return;
    frame.text.setAttribute("x", x + 3);
    frame.text.textContent = label;
  };
  const zoom = (index) => {
    flameGraph.zoomed(frames, index).forEach((place, at) => {
      const frame = frames[at];
      frame.group.setAttribute("display", place ? "inline" : "none");
      if (!place) return;
      frame.group.classList.toggle("around", place.isAround);
      frame.rect.setAttribute("x", place.x);
      frame.rect.setAttribute("width", place.width);
      setLabel(frame, place.x, place.width);
    });
    byId("reset").style.display = index === 0 ? "none" : "inline";
  };
  const search = (text) => {
    const found = text ? flameGraph.search(frames, text) : [];
    const isFound = new Set(found);
    frames.forEach(({ group }, at) => group.classList.toggle("found", isFound.has(at)));
    const share = (100 * flameGraph.covered(frames, found)).toFixed(1);
    show("matched", text ? `${found.length} frames contain “${text}”: ${share} % of the time` : "");
  };
  const ask = () => {
    const text = prompt("Search for a part of a name; nothing ends the search");
    if (text !== null) search(text);
  };

  if (frames.length > 0) {
    svg.classList.add("scripted");
    byId("reset").style.display = "none";
    byId("reset").addEventListener("click", () => zoom(0));
    byId("search").addEventListener("click", ask);
    byId("flame").addEventListener("click", (event) => zoom(indexAt(event)));
    byId("flame").addEventListener("mouseover", (event) => show("details", frames[indexAt(event)].lines.join(" · ")));
    byId("flame").addEventListener("mouseleave", () => show("details", ""));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") zoom(0);
      if (event.key === "/") {
        event.preventDefault();
        ask();
      }
    });
  }
}

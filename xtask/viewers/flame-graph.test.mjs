// Tests of the script that flame graphs contain: the part without access to the page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const script = readFileSync(new URL("../../crates/analyze/src/flame_graph/script.js", import.meta.url), "utf8");
const flameGraph = runInNewContext(`${script}\nflameGraph`, {});

// all (100) > a (60) > b (30), c (20); d (40) > b (10)
const frame = (level, x, width, name) => ({ level, x, width, name });
const frames = [
  frame(0, 16, 100, "all"),
  frame(1, 16, 60, "a"),
  frame(2, 16, 30, "b"),
  frame(2, 46, 20, "c B"),
  frame(1, 76, 40, "d"),
  frame(2, 76, 10, "b"),
];
const plain = (value) => JSON.parse(JSON.stringify(value));
const spell = (places) => places.map((place) => place && [place.x, place.width, place.isAround]);

test("a zoom shows the frame, those in it, and those around it", () => {
  const places = plain(spell(flameGraph.zoomed(frames, 4)));
  assert.deepEqual(places, [[16, 100, true], null, null, null, [16, 100, false], [16, 25, false]]);
  assert.deepEqual(plain(spell(flameGraph.zoomed(frames, 3)))[1], [16, 100, true]);
  assert.deepEqual(plain(spell(flameGraph.zoomed(frames, 3)))[2], null);
});

test("a zoom to the first frame shows all frames in their places", () => {
  const places = plain(spell(flameGraph.zoomed(frames, 0)));
  assert.deepEqual(places, frames.map(({ x, width }) => [x, width, false]));
});

test("labels fit into their frames", () => {
  const labels = [["matmul", 60], ["matmul", 40], ["漢字漢字", 40], ["matmul", 20], ["a", 0]];
  assert.deepEqual(labels.map(([name, width]) => flameGraph.label(name, width)), ["matmul", "matm…", "漢字…", "", ""]);
});

test("a search ignores case and finds parts of names", () => {
  assert.deepEqual(plain(flameGraph.search(frames, "B")), [2, 3, 5]);
  assert.deepEqual(plain(flameGraph.search(frames, "(a|b)")), []);
});

test("the share of found frames counts nested ones once", () => {
  assert.equal(flameGraph.covered(frames, [2, 3, 5]), 0.6);
  assert.equal(flameGraph.covered(frames, [1, 2, 5]), 0.7);
  assert.equal(flameGraph.covered(frames, [0, 1, 2, 3, 4, 5]), 1);
  assert.equal(flameGraph.covered(frames, []), 0);
});

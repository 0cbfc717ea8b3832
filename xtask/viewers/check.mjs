// node check.mjs BUILD FOLDER
//
// Loads every trace that the tests left in FOLDER into Perfetto's trace_processor (BUILD: its folder of
// `engine_bundle.js`), and prints one line per file. A trace NAME comes with NAME.expect (see expectation.mjs).
// Exit code 0: all accepted, with the expected counts; 1: a failure, or nothing to check; 2: usage.

import fs from 'node:fs';
import path from 'node:path';
import { COUNTS, differences, parseExpectation } from './expectation.mjs';
import { TraceProcessor } from './trace-processor.mjs';

// Perfetto counts flows that lead nowhere as `info`, but a flow that a viewer does not draw is a loss.
const LOSSES = `select name, sum(value) from stats where value > 0 and (severity in ('error', 'data_loss')
  or name in ('flow_end_without_start', 'flow_step_without_start')) group by name`;

const ENDING = '.expect';

async function main([build, folder]) {
  if (folder === undefined) {
    console.error('usage: node check.mjs BUILD FOLDER');
    return 2;
  }
  const traces = tracesIn(folder);
  if (traces.length === 0) {
    console.log(`FAIL no trace to check in ${folder}: the tests should have written some`);
    return 1;
  }
  let worst = 0;
  for (const name of traces) worst = Math.max(worst, await report(build, path.join(folder, name)));
  return worst;
}

/** Names with an expectation or with the ending of a trace: one without the other is a mistake to be seen. */
function tracesIn(folder) {
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  const expected = names.filter((name) => name.endsWith(ENDING)).map((name) => name.slice(0, -ENDING.length));
  return [...new Set([...expected, ...names.filter((name) => name.endsWith('.json'))])].sort();
}

async function report(build, file) {
  try {
    console.log(`ok   ${path.basename(file)}: ${spell(await check(build, file))}`);
    return 0;
  } catch (error) {
    console.log(`FAIL ${path.basename(file)}: ${error.message}`);
    return 1;
  }
}

async function check(build, file) {
  const expectation = parseExpectation(fs.readFileSync(file + ENDING, 'utf8'));
  const bytes = fs.readFileSync(file);
  if (file.endsWith('.json')) parseStrictly(bytes);
  const processor = await TraceProcessor.start(build);
  processor.load(bytes);
  const counts = Object.fromEntries(Object.entries(COUNTS).map(([name, sql]) => [name, processor.query(sql)[0][0]]));
  const losses = processor.query(LOSSES).map(([name, value]) => `lost: ${name}=${value}`);
  const faults = [...losses, ...differences(expectation, counts)];
  if (faults.length > 0) throw new Error(`${faults.join('; ')} (${spell(counts)})`);
  return counts;
}

/** trace_processor takes much that is no JSON (a missing bracket, a last comma); other readers do not. */
function parseStrictly(bytes) {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw new Error(`not strict JSON: ${error.message}`);
  }
}

function spell(counts) {
  return Object.entries(counts).map(([name, number]) => `${name}=${number}`).join(' ');
}

process.exitCode = await main(process.argv.slice(2));

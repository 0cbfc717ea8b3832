// The expected counts of a trace: lines such as `slices=10`, blank lines, and comments after `#`.

/** Every count that can be expected, as the SQL that asks trace_processor for it. */
export const COUNTS = {
  // Instants are rows of `slice` too, with a duration of zero.
  slices: 'select count(*) from slice',
  instants: 'select count(*) from slice where dur = 0',
  unended: 'select count(*) from slice where dur < 0',
  depth: 'select ifnull(max(depth) + 1, 0) from slice',
  flows: 'select count(*) from flow',
  counters: 'select count(*) from counter',
  // Perfetto adds a main thread to every process; it counts only if the trace names it or has slices on it.
  threads: 'select count(*) from thread where utid > 0 and (name is not null or utid in (select utid from thread_track))',
  processes: 'select count(*) from process where upid > 0',
};

/** The text of an `.expect` file as a map from count to number; an unended slice must be expected by name. */
export function parseExpectation(text) {
  const lines = text.split('\n').map((line) => line.split('#')[0].trim());
  const pairs = lines.filter((line) => line !== '').map(parseLine);
  if (pairs.length === 0) throw new Error('the .expect file expects nothing');
  return new Map([['unended', 0], ...pairs]);
}

function parseLine(line) {
  const [, name, number] = /^(\w+)\s*=\s*(\d+)$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`.expect: expected a line like \`slices=10\`, found \`${line}\``);
  if (!(name in COUNTS)) throw new Error(`.expect: \`${name}\` is none of ${Object.keys(COUNTS).join(', ')}`);
  return [name, Number(number)];
}

/** Every count that is not what was expected, in words. */
export function differences(expectation, counts) {
  const wrong = [...expectation].filter(([name, number]) => counts[name] !== number);
  return wrong.map(([name, number]) => `expected ${name}=${number}, found ${counts[name]}`);
}

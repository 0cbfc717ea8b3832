// The parts of protocol buffers that the exchange with trace_processor needs: writes unsigned numbers and bytes, reads
// numbers, bytes and packed lists. A schema compiler would be the only other dependency here.

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** A field that holds a number. */
export function numberField(field, value) {
  return Buffer.from([...varintBytes(field * 8 + VARINT), ...varintBytes(value)]);
}

/** A field that holds bytes, a text or a message. */
export function bytesField(field, content) {
  const body = Buffer.from(content);
  return Buffer.concat([Buffer.from([...varintBytes(field * 8 + BYTES), ...varintBytes(body.length)]), body]);
}

/** The fields of a message in the order they were written, as `[field, value]`. */
export function* fieldsOf(message) {
  let at = 0;
  while (at < message.length) {
    const key = varintAt(message, at);
    const field = Number(key.value >> 3n);
    const value = valueAt(message, key.end, Number(key.value & 7n));
    yield [field, value.value];
    at = value.end;
  }
}

/** The first value of one field, or `undefined`. */
export function fieldOf(message, wanted) {
  for (const [field, value] of fieldsOf(message)) {
    if (field === wanted) return value;
  }
  return undefined;
}

/** The numbers of a packed list. */
export function* packedNumbers(bytes) {
  let at = 0;
  while (at < bytes.length) {
    const number = varintAt(bytes, at);
    yield number.value;
    at = number.end;
  }
}

function varintBytes(value) {
  const bytes = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
  return bytes;
}

function varintAt(bytes, start) {
  let value = 0n;
  for (let at = start; at < bytes.length; at++) {
    value += BigInt(bytes[at] & 0x7f) << BigInt(7 * (at - start));
    if (bytes[at] < 0x80) return { value, end: at + 1 };
  }
  throw new Error('a number of the reply is cut short');
}

function valueAt(bytes, start, type) {
  if (type === VARINT) return varintAt(bytes, start);
  const body = bodyAt(bytes, start, type);
  if (body.end > bytes.length) throw new Error('a field of the reply is cut short');
  return { value: bytes.subarray(body.start, body.end), end: body.end };
}

function bodyAt(bytes, start, type) {
  if (type === FIXED64) return { start, end: start + 8 };
  if (type === FIXED32) return { start, end: start + 4 };
  if (type !== BYTES) throw new Error(`the reply has a field of unknown type ${type}`);
  const length = varintAt(bytes, start);
  return { start: length.end, end: length.end + Number(length.value) };
}

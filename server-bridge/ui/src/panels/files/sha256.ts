/** SHA-256, for conditional writes. Browsers offer it only on pages with TLS and on localhost; other pages use the implementation here. */

export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const subtle = (globalThis.crypto as Partial<Crypto>).subtle;
  if (subtle === undefined) return sha256HexPlain(bytes);
  return hex(new Uint8Array(await subtle.digest("SHA-256", bytes)));
}

/** The same hash, computed without the browser's help (FIPS 180-4). */
export function sha256HexPlain(bytes: Uint8Array): string {
  const state = Uint32Array.from(INITIAL);
  const padded = pad(bytes);
  const view = new DataView(padded.buffer);
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += BLOCK_BYTES) {
    for (let index = 0; index < 16; index += 1) words[index] = view.getUint32(at + index * 4);
    addBlock(state, words);
  }
  const result = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => result.setUint32(index * 4, word));
  return hex(new Uint8Array(result.buffer));
}

const BLOCK_BYTES = 64;

function pad(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const length = Math.ceil((bytes.length + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  new DataView(padded.buffer).setBigUint64(length - 8, BigInt(bytes.length) * 8n);
  return padded;
}

function addBlock(state: Uint32Array, words: Uint32Array): void {
  const word = (index: number) => words[index] ?? 0;
  for (let index = 16; index < 64; index += 1) {
    const [a, b] = [word(index - 15), word(index - 2)];
    const first = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
    const second = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
    words[index] = word(index - 16) + first + word(index - 7) + second;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
  for (let index = 0; index < 64; index += 1) {
    const chosen = (e & f) ^ (~e & g);
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + chosen + (ROUNDS[index] ?? 0) + word(index)) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, index) => {
    state[index] = (state[index] ?? 0) + value;
  });
}

type Eight = [number, number, number, number, number, number, number, number];

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const PRIMES = firstPrimes(64);
/** The first 32 bits of the fractional parts of the square roots of the first eight primes. */
const INITIAL = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUNDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) >>> 0;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate += 1) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}

/**
 * Messages and many streams over one pair of pipes. Frames: type (1 byte), stream (4), length (4), payload.
 * Each stream may have `WINDOW_BYTES` under way in each direction, which its reader grants anew as it reads:
 * one that is not read stops no other, and what both sides hold is bounded.
 */
import { Duplex } from 'node:stream';

const MESSAGE = 0;
const OPEN = 1;
const DATA = 2;
const END = 3;
const RESET = 4;
const CREDIT = 5;
const HEAD_BYTES = 9;
const WINDOW_BYTES = 256 * 1024;
const MAX_DATA_BYTES = 64 * 1024;
/** A frame that is longer ends the connection before its payload is taken. */
const MAX_MESSAGE_BYTES = 8 * 1024 ** 2;
/** In the life of a connection. Each is answered, and the other side need not read that. */
const MAX_REFUSED = 256;
const EMPTY = Buffer.alloc(0);

export interface MultiplexerOptions {
  /** Takes frames for the other side. */
  readonly send: (bytes: Buffer) => void;
  readonly onMessage: (text: string) => void;
  /** Streams that the other side opens. Absent = it may open none. */
  readonly onStream?: (stream: Duplex) => void;
  /** At once; one more is closed as soon as it is opened, and some hundred of those break the connection. */
  readonly maxStreams: number;
  /** Called once, with what the other side did wrong. */
  readonly onBroken: (error: Error) => void;
}

/** One side. Only one of the two opens streams. */
export class Multiplexer implements Disposable {
  readonly #options: MultiplexerOptions;
  readonly #streams = new Map<number, Channel>();
  #next = 1;
  #refused = 0;
  #chunks: Buffer[] = [];
  #has = 0;
  /** Of the frame that is coming, as far as its head was read. */
  #needs = HEAD_BYTES;
  #isClosed = false;

  constructor(options: MultiplexerOptions) {
    this.#options = options;
  }

  /** What came from the other side, in pieces of any size. Never throws. */
  receive(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    this.#chunks.push(Buffer.from(bytes));
    this.#has += bytes.length;
    try {
      while (!this.#isClosed && this.#has >= this.#needs) this.#takeFrame();
    } catch (error) {
      this[Symbol.dispose]();
      this.#options.onBroken(error as Error);
    }
  }

  /** At most 8 MiB of UTF-8. */
  message(text: string): void {
    this.#send(MESSAGE, 0, Buffer.from(text, 'utf8'));
  }

  open(): Duplex {
    const id = this.#next++;
    this.#send(OPEN, id, EMPTY);
    return this.#add(id);
  }

  /** Destroys every stream; nothing is sent or taken any more. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const stream of this.#streams.values()) stream.destroy();
    this.#streams.clear();
    this.#chunks = [];
  }

  /** The next one, or its head where the rest is still to come. */
  #takeFrame(): void {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    const [all = EMPTY] = this.#chunks;
    const [type, id, length] = [all.readUInt8(0), all.readUInt32BE(1), all.readUInt32BE(5)];
    if (length > (type === MESSAGE ? MAX_MESSAGE_BYTES : MAX_DATA_BYTES)) throw new Error('a frame is too long');
    const end = HEAD_BYTES + length;
    this.#needs = all.length < end ? end : HEAD_BYTES;
    if (all.length < end) return;
    this.#chunks = [all.subarray(end)];
    this.#has -= end;
    this.#take(type, id, all.subarray(HEAD_BYTES, end));
  }

  #take(type: number, id: number, payload: Buffer): void {
    // One that was closed here a moment ago is still spoken of by the other side.
    const stream = this.#streams.get(id);
    if (type === MESSAGE) this.#options.onMessage(payload.toString('utf8'));
    else if (type === OPEN) this.#opened(id);
    else if (type === DATA) stream?.takeData(payload);
    else if (type === END) stream?.takeEnd();
    else if (type === RESET) stream?.destroy();
    else if (type === CREDIT && payload.length === 4) stream?.takeCredit(payload.readUInt32BE(0));
    else throw new Error('a frame is of no known type');
  }

  #opened(id: number): void {
    const { onStream, maxStreams } = this.#options;
    if (!onStream || this.#streams.has(id)) throw new Error('a stream was opened that must not be');
    if (this.#streams.size < maxStreams) {
      onStream(this.#add(id));
      return;
    }
    this.#refused += 1;
    if (this.#refused > MAX_REFUSED) throw new Error('too many streams were opened');
    this.#send(RESET, id, EMPTY);
  }

  #add(id: number): Channel {
    const stream = new Channel({
      data: (bytes) => this.#send(DATA, id, bytes),
      end: () => this.#send(END, id, EMPTY),
      credit: (bytes) => {
        const payload = Buffer.alloc(4);
        payload.writeUInt32BE(bytes);
        this.#send(CREDIT, id, payload);
      },
      closed: (isWhole) => {
        if (this.#streams.delete(id) && !isWhole) this.#send(RESET, id, EMPTY);
      },
    });
    // Its user may have left already; those who still listen hear of it too.
    stream.on('error', () => undefined);
    this.#streams.set(id, stream);
    return stream;
  }

  #send(type: number, id: number, payload: Buffer): void {
    if (this.#isClosed) return;
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt8(type, 0);
    head.writeUInt32BE(id, 1);
    head.writeUInt32BE(payload.length, 5);
    this.#options.send(payload.length === 0 ? head : Buffer.concat([head, payload]));
  }
}

interface Wire {
  readonly data: (bytes: Buffer) => void;
  readonly end: () => void;
  readonly credit: (bytes: number) => void;
  readonly closed: (isWhole: boolean) => void;
}

/** One stream. Its buffers hold no more than the window. */
class Channel extends Duplex {
  readonly #wire: Wire;
  /** What may still be sent. */
  #room = WINDOW_BYTES;
  #waiting: (() => void) | undefined;
  /** Taken and not yet granted anew. */
  #taken = 0;
  #isEnded = false;
  #sentEnd = false;

  constructor(wire: Wire) {
    super({ readableHighWaterMark: 16 * 1024, writableHighWaterMark: 16 * 1024 });
    this.#wire = wire;
  }

  takeData(bytes: Buffer): void {
    this.#taken += bytes.length;
    if (this.#taken > WINDOW_BYTES || this.#isEnded) throw new Error('a stream sends more than it may');
    // A copy: the bytes around it must not be kept alive by it.
    this.push(Buffer.from(bytes));
  }

  takeEnd(): void {
    this.#isEnded = true;
    this.push(null);
  }

  takeCredit(bytes: number): void {
    this.#room = Math.min(WINDOW_BYTES, this.#room + bytes);
    const go = this.#waiting;
    this.#waiting = undefined;
    go?.();
  }

  override _read(): void {
    const bytes = this.#taken;
    this.#taken = 0;
    if (bytes > 0) this.#wire.credit(bytes);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    let rest = chunk;
    const go = (): void => {
      while (rest.length > 0 && this.#room > 0) {
        const piece = rest.subarray(0, Math.min(MAX_DATA_BYTES, this.#room));
        this.#room -= piece.length;
        rest = rest.subarray(piece.length);
        this.#wire.data(piece);
      }
      if (rest.length === 0) done();
      else this.#waiting = go;
    };
    go();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#sentEnd = true;
    this.#wire.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#waiting = undefined;
    this.#wire.closed(this.#sentEnd && this.#isEnded);
    done(error);
  }
}

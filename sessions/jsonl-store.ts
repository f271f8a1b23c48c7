import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GatehouseError } from '../src/core/errors.ts';
import type { Clock } from '../src/core/ports.ts';
import type { Session, SessionDamage, SessionHeader, SessionInfo, SessionMessage, SessionStore } from '../src/core/session.ts';
import { writeFileAtomic } from '../src/lib/atomic-file.ts';
import { KeyedMutex } from '../src/lib/keyed-mutex.ts';
import { appendToArchive, readArchive } from './archive.ts';
import { appendSynced, appendToExisting, DIRECTORY_MODE, FILE_MODE, Places, readIfPresent, removeFile, sizeOf } from './disk.ts';
import { legacyPath } from './file-name.ts';
import { forkOf } from './fork.ts';
import { type FileState, KnownFiles } from './known-files.ts';
import { listSessions } from './list-sessions.ts';
import { readIds, readNewest } from './read-ends.ts';
import { redactFiles } from './redact.ts';
import { removeFiles } from './remove-files.ts';
import { keptOnRotate, linesToAppend } from './rotate.ts';
import { firstHeader, formatFile, formatMessages, newHeader, type ParsedFile, parseFile } from './session-file.ts';
import { Stems } from './stems.ts';
import { newer, wrapErrors } from './store-errors.ts';

export interface JsonlStoreOptions {
  /** The data directory; created when absent. The caller holds its lock: two processes on one lose lines. */
  readonly dir: string;
  readonly clock: Clock;
  /** A session file that would pass this is rotated. Default 10 MiB (spec C1). */
  readonly maxBytes?: number;
  /** Newest messages that stay in a rotated file, as far as they fit into half of `maxBytes`. Default 200. */
  readonly keepOnRotate?: number;
  /** Told after damaged lines were moved aside and the session was mended. Must not throw. */
  readonly onDamage: (damage: SessionDamage) => void;
}

/**
 * Sessions as JSONL files under `<dir>/users` (README.md). Touches no file before a call. Rejects with GH1401
 * when the disk refuses or the file is another session's, with GH1402 when a newer version wrote it.
 */
export function openJsonlStore(options: JsonlStoreOptions): SessionStore {
  return new JsonlStore(options);
}

type Loaded = Session & { readonly state: FileState };

class JsonlStore implements SessionStore {
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #keepOnRotate: number;
  readonly #onDamage: (damage: SessionDamage) => void;
  readonly #known = new KnownFiles();
  readonly #stems: Stems;
  /** One call at a time per key: a load that mends must not meet an append half way. */
  readonly #keys = new KeyedMutex();
  readonly #places = new Places();
  /** Whether an earlier version kept sessions here in one flat directory; looked for once. */
  #hasLegacy: boolean | undefined;
  /** Files whose end may hold lines that were never synced: written anew before they are trusted. */
  readonly #suspect = new Set<string>();

  constructor(options: JsonlStoreOptions) {
    this.#dir = options.dir;
    this.#stems = new Stems(options.dir);
    this.#clock = options.clock;
    this.#maxBytes = options.maxBytes ?? 10 * 1024 * 1024;
    this.#keepOnRotate = options.keepOnRotate ?? 200;
    this.#onDamage = options.onDamage;
  }

  load(key: string, newest?: number): Promise<Session | undefined> {
    return this.#exclusive(key, async () => {
      const loaded = (await this.#readNewest(key, newest)) ?? (await this.#read(key));
      return loaded && { header: loaded.header, messages: loaded.messages };
    });
  }

  append(key: string, lines: readonly SessionMessage[]): Promise<void> {
    return this.#exclusive(key, () => this.#append(key, lines));
  }

  async fork(source: string, target: string, keep: number): Promise<Session> {
    const from = await this.load(source);
    if (!from) throw new GatehouseError('GH1003', `there is no session ${source} to fork`);
    const session = forkOf(from, target, keep, this.#clock.now());
    await this.#exclusive(target, async () => {
      await this.#read(target); // refuses a file that must not be replaced, and fetches one that still lies in the old place
      await this.#replace(target, session);
    });
    return session;
  }

  rewrite(key: string, messages: readonly SessionMessage[], header: Partial<SessionHeader> = {}): Promise<void> {
    return this.#exclusive(key, async () => {
      const old = await this.#read(key);
      const now = this.#clock.now();
      const updated_at = new Date(now).toISOString();
      await this.#replace(key, { header: newHeader(key, now, { ...old?.header, updated_at, ...header }), messages });
    });
  }

  archived(key: string): Promise<readonly SessionMessage[]> {
    return this.#exclusive(key, () => readArchive(this.#stems.of(key)));
  }

  archive(key: string, lines: readonly SessionMessage[]): Promise<void> {
    return this.#exclusive(key, () => appendToArchive(this.#stems.of(key), lines, newHeader(key, this.#clock.now())));
  }

  async list(): Promise<readonly SessionInfo[]> {
    return wrapErrors('the list of sessions', () => listSessions(this.#dir));
  }

  remove(key: string): Promise<void> {
    return this.#exclusive(key, async () => {
      this.release(key);
      await removeFiles(this.#dir, { key, stem: this.#stems.of(key), now: this.#clock.now() });
    });
  }

  release(key: string): void {
    this.#known.forget(key);
    this.#places.forget(`${this.#stems.of(key)}.jsonl`);
  }

  redact(...[key, ...how]: Parameters<SessionStore['redact']>): ReturnType<SessionStore['redact']> {
    return this.#exclusive(key, async () => {
      await this.#read(key); // mends it, and fetches one that still lies in the old place
      this.#known.forget(key);
      return await redactFiles(this.#stems.of(key), ...how);
    });
  }

  #exclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#keys.runExclusive(key, () => wrapErrors(`session ${key}`, work));
  }

  async #append(key: string, lines: readonly SessionMessage[]): Promise<void> {
    const stem = this.#stems.of(key);
    const path = `${stem}.jsonl`;
    // What is new is told by the lines that are there before a rotation.
    const state = (await this.#knownState(key, path, lines)) ?? (await this.#mended(key))?.state;
    const fresh = await linesToAppend(state?.ids ?? new Set(), lines, `${stem}.archive.jsonl`);
    if (!state) return this.#replace(key, { header: firstHeader(key, this.#clock.now(), fresh), messages: fresh });
    const data = Buffer.from(formatMessages(fresh), 'utf8');
    const isFull = data.length > 0 && state.bytes + data.length > this.#maxBytes;
    const current = isFull ? await this.#makeRoom(key, data.length) : state;
    // A predecessor may have been killed before it synced the names on the way.
    await this.#places.sync(path);
    await this.#write(key, path, current, data);
    current.bytes += data.length;
    for (const { id } of fresh) current.ids.add(id);
    this.#known.remember(key, current);
  }

  /** Also syncs when there is nothing to write: a killed predecessor may have left these lines unsynced. */
  async #write(key: string, path: string, state: FileState, data: Buffer): Promise<void> {
    const end = await appendToExisting(path, data, state.bytes);
    if (!end) return;
    this.#known.forget(key);
    this.#places.forget(path);
    // What could not be cut off is written anew at the next use.
    if (!end.isCutOff) this.#suspect.add(path);
    throw end.error;
  }

  /**
   * The remembered state while the file has the size we left it with, or else what its lines tell without
   * being parsed. Undefined = the file has to be read as a whole.
   */
  async #knownState(key: string, path: string, lines: readonly SessionMessage[]): Promise<FileState | undefined> {
    if (this.#suspect.has(path)) return undefined;
    const state = this.#known.get(key);
    if (state && sizeOf(path) === state.bytes) return state;
    this.#known.forget(key);
    const isOurs = (await this.#readNewest(key, 1)) !== undefined;
    const found = isOurs ? await readIds(path) : undefined;
    // A line that comes again may have lost its end to a power cut, which only a parser sees.
    if (!found || lines.some(({ id }) => found.ids.has(id))) return undefined;
    return found;
  }

  /** Header and newest messages of a large file. Undefined = it has to be read as a whole. */
  async #readNewest(key: string, newest: number | undefined): Promise<Session | undefined> {
    const path = `${this.#stems.of(key)}.jsonl`;
    if (newest === undefined || this.#suspect.has(path)) return undefined;
    return readNewest(path, key, newest, this.#clock.now());
  }

  /** Reads all of it, and rotates what is too large. Undefined = no such session. */
  async #read(key: string): Promise<Loaded | undefined> {
    const loaded = await this.#mended(key);
    const isFull = loaded && loaded.state.bytes > this.#maxBytes && loaded.messages.length > 1;
    return isFull ? this.#rotate(key, loaded) : loaded;
  }

  /** Reads all of it, and mends on the way what needs it. Undefined = no such session. */
  async #mended(key: string): Promise<Loaded | undefined> {
    const stem = this.#stems.of(key);
    const path = `${stem}.jsonl`;
    const bytes = await readIfPresent(path);
    if (!bytes) return this.#migrate(key);
    const now = this.#clock.now();
    const parsed = parseFile(bytes, key, now);
    if (parsed.kind === 'newer') throw newer(path, parsed.version);
    if (parsed.kind === 'foreign') return this.#setAside(key, path, bytes, parsed.owner);
    if (parsed.mustRewrite || this.#suspect.has(path)) await this.#mend(key, parsed, bytes.length);
    const size = parsed.mustRewrite ? (sizeOf(path) ?? 0) : bytes.length;
    const state: FileState = { ids: new Set(parsed.messages.map(({ id }) => id)), bytes: size };
    this.#known.remember(key, state);
    return { header: parsed.header, messages: parsed.messages, state };
  }

  /** Quarantines bad lines before it replaces the file: a kill in between repeats them, never loses them. */
  async #mend(key: string, parsed: ParsedFile & { kind: 'session' }, bytes: number): Promise<void> {
    const stem = this.#stems.of(key);
    const quarantine = `${stem}.quarantine.jsonl`;
    const moved = parsed.bad.flatMap((line) => [line.bytes, Buffer.from('\n')]);
    if (moved.length > 0) await appendSynced(quarantine, Buffer.concat(moved));
    await writeFileAtomic(`${stem}.jsonl`, formatFile(parsed.header, parsed.messages), { mode: FILE_MODE });
    this.#suspect.delete(`${stem}.jsonl`);
    // An emptied file has no line to move, yet its loss must not pass in silence.
    const isDamage = parsed.bad.length > 0 || parsed.headerRebuilt || bytes === 0;
    const lines = [...new Set(parsed.bad.map((line) => line.number))];
    if (isDamage) this.#onDamage({ key, lines, quarantine });
  }

  /** A37: the header names another session, so nothing in here may be shown as this one's history. */
  async #setAside(key: string, path: string, bytes: Buffer, owner: string): Promise<undefined> {
    const home = `${this.#stems.of(owner)}.jsonl`;
    // Both belong here: a hash collision, or a file system that ignores case. The first one keeps its place.
    if (home.toLowerCase() === path.toLowerCase()) {
      throw new GatehouseError('GH1401', `session ${key} would share the file ${path} with another session`);
    }
    const quarantine = `${this.#stems.of(key)}.quarantine.jsonl`;
    await appendSynced(quarantine, bytes);
    await removeFile(path);
    this.#known.forget(key);
    this.#places.forget(path);
    const count = bytes.reduce((lines, byte) => lines + (byte === 0x0a ? 1 : 0), bytes.at(-1) === 0x0a ? 0 : 1);
    this.#onDamage({ key, lines: Array.from({ length: count }, (_, index) => index + 1), quarantine });
    return undefined;
  }

  /** First opening of a key whose file still lies in the flat directory of earlier versions. */
  async #migrate(key: string): Promise<Loaded | undefined> {
    this.#known.forget(key);
    this.#places.forget(`${this.#stems.of(key)}.jsonl`);
    const old = legacyPath(this.#dir, key);
    this.#hasLegacy ??= sizeOf(dirname(old)) !== undefined;
    const bytes = this.#hasLegacy && (await readIfPresent(old));
    if (!bytes) return undefined;
    const parsed = parseFile(bytes, key, this.#clock.now());
    if (parsed.kind === 'newer') throw newer(old, parsed.version);
    if (parsed.kind === 'foreign') return undefined; // a collision of cut names: its owner will fetch it
    await mkdir(dirname(this.#stems.of(key)), { recursive: true, mode: DIRECTORY_MODE });
    await this.#mend(key, parsed, bytes.length);
    await removeFile(old);
    return this.#mended(key);
  }

  /** Archive, then replace; absent = create. */
  async #replace(key: string, session: Session): Promise<void> {
    const stem = this.#stems.of(key);
    const path = `${stem}.jsonl`;
    this.#known.forget(key);
    const old = await readIfPresent(path);
    if (old) await appendSynced(`${stem}.archive.jsonl`, old);
    await this.#put(key, session);
  }

  /** Puts this in the place of the file; a kill leaves the old one or the new one. */
  async #put(key: string, session: Session): Promise<void> {
    const path = `${this.#stems.of(key)}.jsonl`;
    this.#known.forget(key);
    const made = await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
    if (made !== undefined) this.#places.forget(path);
    const data = Buffer.from(formatFile(session.header, session.messages), 'utf8');
    await writeFileAtomic(path, data, { mode: FILE_MODE });
    this.#suspect.delete(path);
    await this.#places.syncAbove(path);
    const ids = new Set(session.messages.map(({ id }) => id));
    this.#known.remember(key, { ids, bytes: data.length });
  }

  async #makeRoom(key: string, bytes: number): Promise<FileState> {
    const loaded = await this.#read(key);
    if (!loaded) throw new GatehouseError('GH1401', `session ${key} vanished while it was written`);
    // Reading may have rotated already; a lone message, however large, stays.
    const isFull = loaded.state.bytes + bytes > this.#maxBytes && loaded.messages.length > 1;
    return isFull ? (await this.#rotate(key, loaded)).state : loaded.state;
  }

  /** F20: the whole file goes to the archive, the newest messages stay. */
  async #rotate(key: string, session: Session): Promise<Loaded> {
    const kept = keptOnRotate(session.messages, this.#keepOnRotate, this.#maxBytes);
    await this.#replace(key, { header: session.header, messages: kept });
    const state = this.#known.get(key);
    if (!state) throw new GatehouseError('GH1401', `session ${key} could not be rotated`);
    return { header: session.header, messages: kept, state };
  }
}

// Loaded with `node --import` before the daemon: counts every instant at which a kill could matter, and kills
// at one of them.
//
//   SWEEP_KILL_AT   number of the point to die at; absent = only count
//   SWEEP_KILL_CHILDREN  set = its child processes die with it, as where the system ends a whole service
//   SWEEP_COUNT     file with the number of points passed so far (always up to date, so it survives the kill)
//
// A point lies before and after a COMMIT of any database, a write on a socket, and every call that changes a
// file, and before bytes that arrive on a socket. SIGKILL is sent from inside, so nothing of the process runs
// after the chosen instant.
import fs from 'node:fs';
import module from 'node:module';
import net from 'node:net';
import { DatabaseSync, StatementSync } from 'node:sqlite';

const killAt = Number(process.env['SWEEP_KILL_AT'] ?? 0);
const countFile = process.env['SWEEP_COUNT'];
const counter = countFile ? fs.openSync(countFile, 'w') : undefined;
const rawWrite = fs.writeSync;
const rawRead = fs.readFileSync;
let passed = 0;

function point(kind: string): void {
  passed += 1;
  if (counter !== undefined) rawWrite(counter, `${String(passed).padStart(8)} ${kind.padEnd(24)}\n`, 0);
  if (passed === killAt) kill();
}

function kill(): void {
  // Those of this thread, which starts them all.
  const children = process.env['SWEEP_KILL_CHILDREN'] ? rawRead('/proc/thread-self/children', 'utf8') : '';
  for (const id of children.split(' ').filter(Boolean)) process.kill(Number(id), 'SIGKILL');
  process.kill(process.pid, 'SIGKILL');
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Puts a point before and after a method; `when` leaves out calls that change nothing. */
function around(owner: object, name: string, kind: string, when: (self: unknown, args: unknown[]) => boolean = () => true): void {
  const original = Reflect.get(owner, name) as Method;
  const wrapped: Method = function (...args) {
    if (!when(this, args)) return Reflect.apply(original, this, args);
    point(`before ${kind}`);
    const result = Reflect.apply(original, this, args);
    if (result instanceof Promise) return result.finally(() => point(`after ${kind}`));
    point(`after ${kind}`);
    return result;
  };
  Object.defineProperty(owner, name, { value: wrapped, configurable: true, writable: true });
}

type Callback = (...results: unknown[]) => void;

/** As `around`, of a function that tells its end to a callback. */
function aroundCallback(name: 'write' | 'fsync' | 'ftruncate'): void {
  const original = Reflect.get(fs, name) as Method;
  const wrapped: Method = (...args) => {
    const callback = args.at(-1) as Callback;
    point(`before file ${name}`);
    const told: Callback = (...results) => {
      point(`after file ${name}`);
      callback(...results);
    };
    return Reflect.apply(original, fs, [...args.slice(0, -1), told]);
  };
  // By them `promisify` knows what it resolves with.
  const symbols = Object.getOwnPropertySymbols(original).map(
    (key) => [key, Object.getOwnPropertyDescriptor(original, key)] as const,
  );
  for (const [key, property] of symbols) if (property) Object.defineProperty(wrapped, key, property);
  Object.defineProperty(fs, name, { value: wrapped, configurable: true, writable: true });
}

const isCommit = (sql: unknown) => typeof sql === 'string' && /^\s*COMMIT/i.test(sql);
around(DatabaseSync.prototype, 'exec', 'commit', (_self, [sql]) => isCommit(sql));
around(StatementSync.prototype, 'run', 'commit', (self) => isCommit((self as StatementSync).sourceSQL));

/** Standard streams that are pipes are sockets. Input and output are the terminal's wire, stderr is talk. */
const isWire = (self: unknown) => self !== process.stderr;
around(net.Socket.prototype, 'write', 'socket write', isWire);
const push = net.Socket.prototype.push;
net.Socket.prototype.push = function (chunk, encoding) {
  if (chunk !== null && isWire(this)) point('before socket read');
  return push.call(this, chunk, encoding);
};

for (const name of ['rename', 'writeFile', 'appendFile', 'copyFile', 'rm', 'unlink', 'mkdir', 'truncate'] as const) {
  around(fs.promises, name, `file ${name}`);
}
for (const name of [
  'renameSync',
  'writeFileSync',
  'appendFileSync',
  'writeSync',
  'fsyncSync',
  'fdatasyncSync',
  'copyFileSync',
] as const) {
  around(fs, name, `file ${name}`, (_self, [target]) => target !== counter && target !== 1 && target !== 2);
}
// Not `fdatasync`, with which the journal's log is synced: a killed process leaves the same files before and
// after it, and what follows it is a point of its own.
for (const name of ['write', 'fsync', 'ftruncate'] as const) aroundCallback(name);
const handle = await fs.promises.open(process.execPath, 'r');
const fileHandle = Object.getPrototypeOf(handle);
await handle.close();
for (const name of ['write', 'writev', 'writeFile', 'appendFile', 'sync', 'datasync', 'truncate'] as const) {
  around(fileHandle, name, `file ${name}`);
}
module.syncBuiltinESMExports();

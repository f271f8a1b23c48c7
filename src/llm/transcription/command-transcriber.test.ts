/** Transcription by real programs: a recognizer, ffmpeg, and scripts that misbehave. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Clock } from '../../core/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import { tempDir, until } from '../../testing/fakes.ts';
import { needs } from '../../testing/needs.ts';
import { needsSpeech, RECOGNIZER, voiceNote } from '../../testing/speech.ts';
import { type CommandTranscriberOptions, createCommandTranscriber } from './command-transcriber.ts';

const signal = new AbortController().signal;

async function scene(script?: string, override: Partial<CommandTranscriberOptions> = {}) {
  const dir = await tempDir();
  const program = join(dir.path, 'recognizer');
  await writeFile(program, `#!/bin/sh\n${script ?? ''}\n`);
  await chmod(program, 0o700);
  const path = join(dir.path, 'note.ogg');
  await writeFile(path, 'OggS sound of a voice');
  const temp = join(dir.path, 'temp');
  await mkdir(temp);
  const transcriber = createCommandTranscriber({ command: [program, '{file}'], clock: systemClock, tempDir: temp, ...override });
  return {
    dir: dir.path,
    temp,
    note: { path, mime: 'audio/ogg', bytes: 21 },
    transcriber,
    left: () => readdir(temp),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

async function isRunning(pid: number): Promise<boolean> {
  try {
    // A zombie is a process that ended.
    return !/^State:\s+Z/m.test(await readFile(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test('real speech in a voice note comes out as the words that were spoken', { timeout: 40_000 }, async (context) => {
  needsSpeech(context);
  await using at = await scene(undefined, { command: RECOGNIZER });
  const path = await voiceNote(at.dir, 'what is the weather like tomorrow');
  expect(at.transcriber.id).toBe('command/pocketsphinx_continuous');
  expect(await at.transcriber.transcribe({ path, mime: 'audio/ogg', bytes: 1 }, signal)).toBe(
    'what is the weather like tomorrow',
  );
  expect(await at.left()).toEqual([]);
});

test('the program gets 16 kHz mono where it asks for WAV, and the file as it came where it asks for that', async (context) => {
  needsSpeech(context);
  await using at = await scene('head -c 48 "$1" | od -An -tu1 -w48; cmp "$2" "$3" && echo same');
  const path = await voiceNote(at.dir, 'hello');
  const command = [join(at.dir, 'recognizer'), '{wav}', '{file}', path];
  const transcriber = createCommandTranscriber({ command, clock: systemClock, tempDir: at.temp });
  const [header = '', same] = (await transcriber.transcribe({ path, mime: 'audio/ogg', bytes: 1 }, signal)).split('\n');
  const bytes = Buffer.from(header.trim().split(/\s+/).map(Number));
  expect([bytes.toString('latin1', 0, 4), bytes.readUInt16LE(22), bytes.readUInt32LE(24), bytes.readUInt16LE(34)]).toEqual([
    'RIFF',
    1,
    16_000,
    16,
  ]);
  expect(same).toBe('same');
});

test('A28 A29 the environment of the program holds no secret of ours, and no shell reads its arguments', async () => {
  process.env['GROQ_API_KEY'] = 'canary-env-91';
  try {
    await using at = await scene('env; echo "arg:$2"');
    const command = [join(at.dir, 'recognizer'), '{file}', '$(touch pwned); `id` $HOME'];
    const text = await createCommandTranscriber({ command, clock: systemClock, tempDir: at.temp }).transcribe(at.note, signal);
    expect(text).not.toContain('canary');
    expect(text).toContain('arg:$(touch pwned); `id` $HOME');
    const names = text.split('\n').flatMap((line) => /^([A-Z_]+)=/.exec(line)?.[1] ?? []);
    expect(names.filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name)).sort()).toEqual([
      'HOME',
      'LANG',
      'LC_ALL',
      'PATH',
      'TMPDIR',
    ]);
  } finally {
    delete process.env['GROQ_API_KEY'];
  }
});

test('F30 a program that does not end is killed with everything it started, also when it ignores TERM', async () => {
  await using at = await scene();
  const pids = join(at.dir, 'pids');
  await writeFile(
    join(at.dir, 'recognizer'),
    `#!/bin/sh\ntrap "" TERM\nsleep 300 &\necho "$$ $!" > '${pids}'\nwait\nsleep 300\n`,
  );
  const command = [join(at.dir, 'recognizer'), '{file}'];
  // The limit is over once the program has said what it started.
  const hasStarted = () =>
    until('it has started', () =>
      readFile(pids, 'utf8').then(
        (text) => text.endsWith('\n'),
        () => false,
      ),
    );
  const sleep: Clock['sleep'] = (ms, stop) => (ms > 1_000 ? hasStarted().then(() => undefined) : systemClock.sleep(ms, stop));
  const clock = { ...systemClock, sleep };
  const transcriber = createCommandTranscriber({ command, clock, tempDir: at.temp, timeoutMs: 20_000 });
  const started = performance.now();
  await expect(transcriber.transcribe(at.note, signal)).rejects.toMatchObject({
    code: 'GH2114',
    message: expect.stringMatching(/did not end within \d+ ms/),
  });
  expect(performance.now() - started).toBeLessThan(40_000);
  const processes = (await readFile(pids, 'utf8')).trim().split(' ').map(Number);
  expect(processes).toHaveLength(2);
  for (const pid of processes) await until(`${pid} is gone`, async () => !(await isRunning(pid)));
  expect(await at.left()).toEqual([]);
});

test('what a program leaves running behind its answer is ended too, and does not hold the answer up', async () => {
  await using at = await scene();
  const pids = join(at.dir, 'pids');
  await writeFile(join(at.dir, 'recognizer'), `#!/bin/sh\nsleep 300 &\necho $! > '${pids}'\necho words\n`);
  expect(await at.transcriber.transcribe(at.note, signal)).toBe('words');
  const pid = Number(await readFile(pids, 'utf8'));
  await until('it is gone', async () => !(await isRunning(pid)));
});

test('F30 a process that leaves the group of the program cannot hold the answer up, or the time limit', async (context) => {
  needs(context, 'setsid', '--version');
  await using at = await scene();
  const pids = join(at.dir, 'pids');
  const leave = `setsid sh -c 'echo $$ >> "${pids}"; exec sleep 60' &\n`;
  await writeFile(join(at.dir, 'recognizer'), `#!/bin/sh\n${leave}sleep 0.2; echo words\n`);
  const started = performance.now();
  expect(await at.transcriber.transcribe(at.note, signal)).toBe('words');
  await writeFile(join(at.dir, 'recognizer'), `#!/bin/sh\n${leave}sleep 300\n`);
  const command = [join(at.dir, 'recognizer'), '{file}'];
  const limited = createCommandTranscriber({ command, clock: systemClock, tempDir: at.temp, timeoutMs: 300 });
  await expect(limited.transcribe(at.note, signal)).rejects.toMatchObject({ code: 'GH2114' });
  expect(performance.now() - started).toBeLessThan(40_000);
  for (const pid of (await readFile(pids, 'utf8')).trim().split('\n').map(Number)) process.kill(pid, 'SIGKILL');
});

test('an abort ends the program and rejects with its reason; nothing stays behind', async () => {
  await using at = await scene('sleep 300');
  const stop = new AbortController();
  const reason = new Error('/stop');
  const work = at.transcriber.transcribe(at.note, stop.signal);
  setTimeout(() => stop.abort(reason), 150);
  await expect(work).rejects.toBe(reason);
  expect(await at.left()).toEqual([]);
});

test('two run at once; who waits for a turn is let go by an abort', async () => {
  await using at = await scene();
  const go = join(at.dir, 'go');
  await writeFile(join(at.dir, 'recognizer'), `#!/bin/sh\nuntil [ -e '${go}' ]; do sleep 0.05; done; echo done\n`);
  const first = [at.transcriber.transcribe(at.note, signal), at.transcriber.transcribe(at.note, signal)];
  const stop = new AbortController();
  const reason = new Error('/stop');
  const third = at.transcriber.transcribe(at.note, stop.signal);
  setTimeout(() => stop.abort(reason), 100);
  await expect(third).rejects.toBe(reason);
  await writeFile(go, '');
  expect(await Promise.all(first)).toEqual(['done', 'done']);
});

test.each([
  ['ends with an error', 'echo "model not found" >&2; exit 3', /ended with status 3: model not found/],
  ['kills itself', 'kill -9 $$', /ended with SIGKILL/],
  ['prints without end', 'while :; do echo "words words words words words words"; done', /printed more than/],
  ['A46 writes to a terminal', 'printf "\\033[2Jgone" >&2; exit 1', /: \\u001b\[2Jgone$/],
])('a program that %s is GH2114 and says so', async (_name, script, message) => {
  await using at = await scene(script);
  await expect(at.transcriber.transcribe(at.note, signal)).rejects.toMatchObject({
    code: 'GH2114',
    message: expect.stringMatching(message),
  });
  expect(await at.left()).toEqual([]);
});

test('a program that is missing is named with what to do, and so is ffmpeg', async () => {
  await using at = await scene();
  for (const [command, name] of [
    [['no-such-recognizer', '{file}'], 'no-such-recognizer'],
    [['true', '{wav}'], 'no-such-ffmpeg'],
  ] as const) {
    const transcriber = createCommandTranscriber({ command, clock: systemClock, tempDir: at.temp, ffmpeg: 'no-such-ffmpeg' });
    await expect(transcriber.transcribe(at.note, signal)).rejects.toMatchObject({
      code: 'GH2114',
      message: `${name} is not installed`,
      hint: expect.stringContaining(`install ${name}`),
    });
  }
});

test('a command that names no file is refused when it is configured', () => {
  expect(() => createCommandTranscriber({ command: ['whisper-cli', '-l', 'en'], clock: systemClock })).toThrow(/\{wav\}/);
  expect(() => createCommandTranscriber({ command: [], clock: systemClock })).toThrow(/\{wav\}/);
});

test('A30 a recording that is a playlist in truth makes ffmpeg open nothing', async (context) => {
  needs(context, 'ffmpeg', '-version');
  await using at = await scene(undefined, { command: ['cat', '{wav}'] });
  const other = join(at.dir, 'other.mp3');
  execFileSync('ffmpeg', ['-nostdin', '-v', 'error', '-f', 'lavfi', '-i', 'sine=d=1', other]);
  const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://${other}\n#EXT-X-ENDLIST\n`;
  await writeFile(at.note.path, playlist);
  await expect(at.transcriber.transcribe(at.note, signal)).rejects.toMatchObject({ message: expect.stringMatching(/no sound/) });
  // Behind an empty ID3 tag it looks like an MP3 to us, and like a playlist to an ffmpeg that may guess. Such
  // an ffmpeg would play the other file.
  await writeFile(at.note.path, `ID3\u0004\0\0\0\0\0\0${playlist}`);
  await expect(at.transcriber.transcribe(at.note, signal)).rejects.toMatchObject({
    message: expect.stringMatching(/^ffmpeg ended/),
  });
});

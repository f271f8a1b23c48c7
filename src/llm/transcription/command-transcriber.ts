/** Transcription by a program on this machine, such as whisper-cli or pocketsphinx. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import type { AudioFile, Transcriber } from '../../core/media-models.ts';
import type { Clock } from '../../core/ports.ts';
import type { AudioFormat } from '../../lib/audio-format.ts';
import { BoundedQueue } from '../../lib/bounded-queue.ts';
import { runProgram } from '../../lib/run-program.ts';
import { settledOrAborted } from '../../lib/time-limit.ts';
import { TRANSCRIPTION_TIMEOUT_MS } from './openai-transcriber.ts';
import { readAudio } from './read-audio.ts';

export interface CommandTranscriberOptions {
  /**
   * Program and arguments. `{wav}` stands for a 16 kHz mono WAV file made by ffmpeg, `{file}` for the file as
   * it came; at least one of them must occur. Standard output, trimmed, is the text.
   */
  readonly command: readonly string[];
  /** Where programs are looked for. Default: the usual directories of a system. */
  readonly path?: string;
  /** Where the program finds its models, as HOME. Default: the temporary directory of the call. */
  readonly home?: string;
  /** Default 60 s, conversion included. */
  readonly timeoutMs?: number;
  /** Default `ffmpeg`. */
  readonly ffmpeg?: string;
  /** Files of a call lie in a directory of their own below. Default: the system's. */
  readonly tempDir?: string;
  readonly clock: Clock;
}

const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin'].join(delimiter);
/** Two hours of speech are 100 kB of text. */
const MAX_OUTPUT_BYTES = 512_000;
/** Seconds of sound that are converted: 58 MB of WAV, more than a recognizer gets through in its time. */
const MAX_SECONDS = 1_800;
/** Recognizers use a whole core each. */
const AT_ONCE = 2;

export function createCommandTranscriber(options: CommandTranscriberOptions): Transcriber {
  const [program, ...args] = options.command;
  if (program === undefined || !args.some((arg) => /\{(?:wav|file)\}/.test(arg))) {
    throw new GatehouseError('GH2114', 'the transcription command names neither {wav} nor {file}', {
      hint: 'put {wav} where the program expects its sound file, e.g. ["whisper-cli", "-f", "{wav}"]',
    });
  }
  const queue = new BoundedQueue(AT_ONCE);
  return {
    id: `command/${basename(program)}`,
    async transcribe(file, signal) {
      const begun = Promise.withResolvers<void>();
      const job = queue.run(() => {
        begun.resolve();
        return inDirectory(options, (dir) => transcribe(options, [program, ...args], file, dir, signal), signal);
      });
      try {
        // An abort lets go of who waits for a turn; once the program runs, it is ended first.
        await settledOrAborted(begun.promise, signal);
      } catch (error) {
        job.catch(() => undefined); // its turn comes later, and it ends at once
        throw error;
      }
      return await job;
    },
  };
}

async function inDirectory(
  options: CommandTranscriberOptions,
  work: (dir: string) => Promise<string>,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const dir = await mkdtemp(join(options.tempDir ?? tmpdir(), 'gatehouse-speech-'));
  try {
    return await work(dir);
  } catch (error) {
    signal.throwIfAborted();
    if (isGatehouseError(error)) throw error;
    throw new GatehouseError('GH2114', `the recording cannot be prepared: ${errorText(error)}`, { cause: error });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function transcribe(
  options: CommandTranscriberOptions,
  argv: readonly [string, ...string[]],
  source: AudioFile,
  dir: string,
  signal: AbortSignal,
): Promise<string> {
  const { clock, timeoutMs = TRANSCRIPTION_TIMEOUT_MS } = options;
  const end = clock.monotonic() + timeoutMs;
  const { bytes, format } = await readAudio(source, signal);
  // A copy cannot change while it is read; the given path may lead through a descriptor of this process.
  const file = join(dir, `audio.${format.extension}`);
  await writeFile(file, bytes, { mode: 0o600 });
  const wav = join(dir, 'speech.wav');
  const limits = { env: environment(options, dir), cwd: dir, errorCode: 'GH2114', clock } as const;
  const run = (command: readonly [string, ...string[]], maxOutputBytes: number): Promise<string> =>
    runProgram({ ...limits, argv: command, timeoutMs: Math.max(0, end - clock.monotonic()), maxOutputBytes }, signal);
  if (argv.some((arg) => arg.includes('{wav}'))) await run(conversion(options.ffmpeg ?? 'ffmpeg', file, format, wav), 0);
  const [program, ...args] = argv;
  const filled = args.map((arg) => arg.replaceAll('{wav}', wav).replaceAll('{file}', file));
  return (await run([program, ...filled], MAX_OUTPUT_BYTES)).trim();
}

/**
 * Names the demuxer and lets only local files be opened: left to guess, ffmpeg takes a playlist for sound and
 * opens the files and addresses that its sender wrote into it.
 */
function conversion(ffmpeg: string, file: string, { demuxer }: AudioFormat, wav: string): [string, ...string[]] {
  const input = ['-protocol_whitelist', 'file', '-f', demuxer, '-i', file];
  const output = ['-map', '0:a:0', '-t', String(MAX_SECONDS), '-ac', '1', '-ar', '16000', '-c:a', 'pcm_s16le', '-f', 'wav', wav];
  return [ffmpeg, '-nostdin', '-hide_banner', '-v', 'error', ...input, ...output];
}

/** Built from nothing: a speech recognizer must not see the keys in the daemon's own environment. */
function environment({ path, home }: CommandTranscriberOptions, dir: string): Record<string, string> {
  return { PATH: path ?? SYSTEM_PATH, HOME: home ?? dir, TMPDIR: dir, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };
}

/** The `embedding` and `transcription` sections of the config, as `models test` tries them. */
import { access, constants, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import type { LoadedConfig } from '../../../config/load.ts';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import { type KeySources, resolveKey } from '../../llm/providers/key.ts';
import { resolveProvider } from '../../llm/providers/resolve.ts';
import { type CommandContext, dataDirOf, envOf } from '../context.ts';
import type { Failure } from '../output.ts';
import { packagesDirOf } from './models-add-local.ts';

export interface MediaCheck {
  readonly name: 'embedding' | 'transcription';
  /** Never rejects. */
  run(timeoutMs: number): Promise<MediaResult>;
}

export interface MediaResult {
  readonly name: MediaCheck['name'];
  /** `provider/model` or `command/program`; absent when it could not be made. */
  readonly id?: string;
  readonly ms?: number;
  /** Of the vectors. */
  readonly dimensions?: number;
  readonly failure?: Failure;
}

type Config = LoadedConfig['config'];
type Embedding = NonNullable<Config['embedding']>;
type Transcription = NonNullable<Config['transcription']>;
type Checked = Omit<MediaResult, 'name' | 'failure'>;

/** A second of it, as WAV: 16 kHz, mono, 16 bit. */
const SILENCE = { rate: 16_000, samples: 16_000 };

/** The sections that are there. */
export function mediaChecks({ config: { embedding, transcription } }: LoadedConfig, context: CommandContext): MediaCheck[] {
  const check = (name: MediaCheck['name'], test: (timeoutMs: number, told: (id: string) => void) => Promise<Checked>) => ({
    name,
    run: async (timeoutMs: number): Promise<MediaResult> => {
      let id: string | undefined;
      try {
        return { name, ...(await test(timeoutMs, (known) => (id = known))) };
      } catch (error) {
        return { name, ...(id === undefined ? {} : { id }), failure: toFailure(name, error) };
      }
    },
  });
  return [
    ...(embedding ? [check('embedding', (ms, told) => testEmbedding(embedding, context, ms, told))] : []),
    ...(transcription ? [check('transcription', (ms, told) => testTranscription(transcription, context, ms, told))] : []),
  ];
}

function toFailure(name: MediaCheck['name'], error: unknown): Failure {
  if (isGatehouseError(error)) return { code: error.code, message: error.message, hint: error.hint };
  const hint = `check the ${name} section of the config`;
  return { code: name === 'embedding' ? 'GH2115' : 'GH2114', message: errorText(error), hint };
}

async function testEmbedding(
  section: Embedding,
  context: CommandContext,
  timeoutMs: number,
  told: (id: string) => void,
): Promise<Checked> {
  const { clock } = context.deps;
  const { provider, model, base_url, api_key_env } = section;
  const { createEmbedder } = await import('../../llm/embeddings/create-embedder.ts');
  const target =
    provider === 'local' ? undefined : resolveProvider({ provider, model: model ?? 'embedding', base_url, api_key_env });
  const key = target && (await resolveKey(target, await keySources(context)));
  const embedder = createEmbedder({
    ...{ provider, timeoutMs, clock, random: Math.random, packagesDir: packagesDirOf(dataDirOf(context)) },
    ...(model === undefined ? {} : { model }),
    ...(base_url === undefined ? {} : { baseUrl: base_url }),
    ...(key ? { apiKey: key.value() } : {}),
  });
  told(embedder.id);
  const start = clock.monotonic();
  // The time limit ends it; Ctrl-C ends the process.
  const [vector] = await embedder.embed(['hello'], new AbortController().signal);
  const ms = Math.round(clock.monotonic() - start);
  return { id: embedder.id, ms, dimensions: vector?.length ?? 0 };
}

async function testTranscription(
  section: Transcription,
  context: CommandContext,
  timeoutMs: number,
  told: (id: string) => void,
): Promise<Checked> {
  const { clock, env } = context.deps;
  const { createTranscriber } = await import('../../llm/transcription/create-transcriber.ts');
  const deps = { clock, random: Math.random };
  if (section.kind === 'command') {
    const { id } = createTranscriber({ kind: 'command', command: section.command }, deps);
    told(id);
    const [program = '', ...args] = section.command;
    await findProgram(program, env['PATH']);
    if (args.some((arg) => arg.includes('{wav}'))) await findProgram('ffmpeg', env['PATH']);
    return { id };
  }
  const { speechServerOf } = await import('../../llm/transcription/speech-server.ts');
  const { model, base_url: baseUrl, language } = section;
  const key = await resolveKey(speechServerOf(section), await keySources(context));
  const transcriber = createTranscriber(
    {
      ...{ kind: 'openai' as const, model, baseUrl, timeoutMs },
      ...(key ? { apiKey: key.value() } : {}),
      ...(language === undefined ? {} : { language }),
    },
    deps,
  );
  told(transcriber.id);
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-silence-'));
  try {
    const path = join(dir, 'silence.wav');
    const wav = silence();
    await writeFile(path, wav, { mode: 0o600 });
    const start = clock.monotonic();
    await transcriber.transcribe({ path, mime: 'audio/wav', bytes: wav.length }, new AbortController().signal);
    return { id: transcriber.id, ms: Math.round(clock.monotonic() - start) };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function keySources(context: CommandContext): Promise<KeySources> {
  const { storedKey } = context.deps;
  // A file of logins that cannot be trusted is told by `storedKey`.
  const env = await envOf(context).catch(() => context.deps.env);
  return { env, storedKey: (provider) => storedKey(dataDirOf(context), provider) };
}

/** As it will be started: no shell, in a directory of its own, where a relative path leads nowhere. */
async function findProgram(program: string, path = '/usr/local/bin:/usr/bin:/bin'): Promise<void> {
  const isPath = /[/\\]/.test(program);
  const places = isPath ? [program] : path.split(delimiter).map((dir) => join(dir, program));
  for (const place of places.filter(isAbsolute)) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false, // not there, or not to be run: the next place
    );
    if (found) return;
  }
  throw new GatehouseError('GH2114', `the program ${printable(program)} is not there`, {
    hint: isPath ? 'write its whole path in the transcription section' : 'install it, or write its whole path',
  });
}

/** Header as of the RIFF/WAVE specification (IBM and Microsoft, 1991), then zeros. */
function silence(): Buffer {
  const { rate, samples } = SILENCE;
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write('RIFF', 0, 'latin1');
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write('WAVEfmt ', 8, 'latin1');
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(rate, 24);
  wav.writeUInt32LE(rate * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36, 'latin1');
  wav.writeUInt32LE(samples * 2, 40);
  return wav;
}

/** Looks for model servers of this machine, read-only. */
import type { Clock } from '../core/ports.ts';
import { isOllamaCloud, isToolCapable, ollama } from './providers/ollama.ts';
import type { Provider } from './providers/provider.ts';
import { openaiCompatible } from './providers/table.ts';

/** Where the servers listen unless told otherwise; origins without a path. */
export interface ProbeOrigins {
  readonly ollama?: string;
  readonly lmStudio?: string;
  readonly llamaCpp?: string;
}

export interface LocalServer {
  /** As shown: `ollama :11434`. */
  readonly label: string;
  /** What was found there, for the line "looked for". */
  readonly state: string;
  /** The model to use; absent = nothing usable. */
  readonly found?: { readonly provider: Provider; readonly model: string; readonly baseUrl: string };
}

/** ux.md 3: a start must not wait longer than this for servers that are not there. */
const PROBE_MS = 300;
/** A list of models is small; whatever else listens there is not read on. */
const BODY_CHARS = 1_000_000;

interface Probe {
  readonly label: string;
  readonly origin: string;
  readonly path: string;
  readonly provider: Provider;
  /** Names of the installed models, or undefined when the answer is not that of such a server. */
  readonly list: (body: unknown) => readonly string[] | undefined;
  readonly usable: (model: string) => boolean;
  readonly unusable: string;
}

/** All at once, each limited to 300 ms, in a fixed order. Rejects only with `signal.reason`. */
export async function probeLocalServers(options: {
  env: Readonly<Record<string, string | undefined>>;
  origins?: ProbeOrigins;
  fetch: typeof fetch;
  clock: Clock;
  signal: AbortSignal;
}): Promise<LocalServer[]> {
  const { origins = {}, signal } = options;
  const probes: Probe[] = [
    {
      label: 'ollama',
      origin: origins.ollama ?? ollamaOrigin(options.env['OLLAMA_HOST']),
      path: '/api/tags',
      provider: ollama,
      list: (body) => names(body, 'models', 'name'),
      // A cloud model would send everything to a service nobody chose.
      usable: (model) => isToolCapable(model) && !isOllamaCloud(model),
      unusable: 'no tool-capable model',
    },
    { label: 'lm studio', origin: origins.lmStudio ?? 'http://127.0.0.1:1234', ...openAiList },
    { label: 'llama.cpp', origin: origins.llamaCpp ?? 'http://127.0.0.1:8080', ...openAiList },
  ];
  const results = await Promise.all(probes.map((probe) => runProbe(probe, options)));
  signal.throwIfAborted();
  return results;
}

const openAiList: Omit<Probe, 'label' | 'origin'> = {
  path: '/v1/models',
  provider: openaiCompatible,
  list: (body) => names(body, 'data', 'id'),
  usable: (model) => !/embed/i.test(model),
  unusable: 'no model',
};

async function runProbe(probe: Probe, options: { fetch: typeof fetch; clock: Clock; signal: AbortSignal }): Promise<LocalServer> {
  const label = `${probe.label} :${new URL(probe.origin).port || '80'}`;
  const models = await listModels(probe, options);
  if (!models) return { label, state: 'no' };
  const model = models.find(probe.usable);
  if (!model) return { label, state: `running, ${probe.unusable} among ${models.length}` };
  return { label, state: model, found: { provider: probe.provider, model, baseUrl: `${probe.origin}/v1` } };
}

async function listModels(
  probe: Probe,
  { fetch: fetchFn, clock, signal }: { fetch: typeof fetch; clock: Clock; signal: AbortSignal },
): Promise<readonly string[] | undefined> {
  const over = new AbortController();
  const limit = AbortSignal.any([signal, over.signal]);
  const timer = clock.sleep(PROBE_MS, limit).then(
    () => over.abort(),
    () => undefined, // ended early: the probe is done or the caller gave up
  );
  try {
    // A redirect could lead off this machine.
    const response = await fetchFn(`${probe.origin}${probe.path}`, { signal: limit, redirect: 'error' });
    if (!response.ok || Number(response.headers.get('content-length') ?? 0) > BODY_CHARS) return undefined;
    return probe.list(await response.json());
  } catch {
    return undefined; // refused, too slow, or not JSON: there is no such server, which is a result here
  } finally {
    over.abort();
    await timer;
  }
}

function names(body: unknown, list: string, field: string): string[] | undefined {
  const entries: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, list) : undefined;
  if (!Array.isArray(entries)) return undefined;
  return entries
    .map((entry: unknown) => (typeof entry === 'object' && entry !== null ? Reflect.get(entry, field) : undefined))
    .filter((name): name is string => typeof name === 'string' && name !== '');
}

/** OLLAMA_HOST, also what the server binds: `0.0.0.0` means loopback, and scheme and port may be missing. */
export function ollamaOrigin(host: string | undefined): string {
  const fallback = 'http://127.0.0.1:11434';
  const text = host?.trim();
  if (!text) return fallback;
  const hasScheme = text.includes('://');
  const url = URL.parse(hasScheme ? text : `http://${text.startsWith(':') ? `127.0.0.1${text}` : text}`);
  if (!url?.hostname) return fallback;
  const name = url.hostname === '0.0.0.0' || url.hostname === '[::]' ? '127.0.0.1' : url.hostname;
  // With a scheme the scheme's port is meant, as Ollama itself reads it.
  const port = url.port || (hasScheme ? (url.protocol === 'https:' ? '443' : '80') : '11434');
  return `${url.protocol}//${name}:${port}`;
}

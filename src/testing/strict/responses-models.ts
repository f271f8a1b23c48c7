/**
 * What OpenAI's models accept on the Responses wire: efforts as the API lists them in its refusals (seen live
 * in September 2026 for gpt-6-astra, gpt-5.5 and gpt-5.3-codex), limits of
 * https://platform.openai.com/docs/models, `phase` of the SDK's types.
 */
export interface ResponsesModel {
  readonly pattern: RegExp;
  /** None = the model does not reason, and refuses to be asked to. */
  readonly efforts: readonly string[];
  readonly defaultEffort: string;
  readonly maxOutput: number;
  /** Messages carry `phase`, which is to be sent back. */
  readonly phases: boolean;
  /** What is written to the cache is reported, and costs more than other input. */
  readonly reportsWrites: boolean;
}

function model(pattern: RegExp, efforts: string, defaultEffort: string, rest: Partial<ResponsesModel> = {}): ResponsesModel {
  const list = efforts.split(' ').filter((effort) => effort !== '');
  return { pattern, efforts: list, defaultEffort, maxOutput: 128_000, phases: true, reportsWrites: false, ...rest };
}

const OLD = { phases: false } as const;

const MODELS: readonly ResponsesModel[] = [
  model(/^gpt-6(?:\.1|-astra)/, 'low medium high xhigh max', 'medium', { reportsWrites: true }),
  model(/^gpt-6/, 'none low medium high xhigh max', 'medium', { reportsWrites: true }),
  model(/^gpt-5\.6/, 'none low medium high xhigh', 'medium', { reportsWrites: true }),
  model(/^gpt-5\.[345]-codex/, 'low medium high xhigh', 'medium'),
  model(/^gpt-5\.[345]/, 'none low medium high xhigh', 'none'),
  model(/^gpt-5\.2/, 'none low medium high xhigh', 'none', OLD),
  model(/^gpt-5\.1/, 'none low medium high', 'none', OLD),
  model(/^gpt-5/, 'minimal low medium high', 'medium', OLD),
  model(/^o\d/, 'low medium high', 'medium', { ...OLD, maxOutput: 100_000 }),
  model(/^gpt-4\.1/, '', 'none', { ...OLD, maxOutput: 32_768 }),
  model(/^gpt-4o/, '', 'none', { ...OLD, maxOutput: 16_384 }),
];
/** An unknown name is held to the strictest rules. */
const OTHER = model(/^/, 'low medium high xhigh max', 'medium', { reportsWrites: true });

export function responsesModel(name: unknown): ResponsesModel {
  return MODELS.find(({ pattern }) => pattern.test(String(name))) ?? OTHER;
}

/** Shut down by November 2026 (comment of `ChatModel` in the openai package). */
export const RETIRED_OPENAI: readonly string[] = [
  'gpt-4',
  'gpt-4-turbo',
  'gpt-3.5-turbo',
  'gpt-4.1-nano',
  'o1',
  'o3-mini',
  'o4-mini',
  'gpt-5-chat-latest',
  'gpt-5.1-codex',
];

import type { FailureKind, ModelFailure } from '../core/model.ts';

/** What a person in a chat can use: what happened, what to do. No provider text, path or prompt (A48). */
const SENTENCES: Readonly<Record<FailureKind, string>> = {
  'rate-limit': 'The AI model gets too many requests at the moment.',
  overloaded: 'The AI model is overloaded at the moment. Please ask again in a minute.',
  server: 'The AI model has a problem on its side. Please ask again in a minute.',
  network: 'The AI model cannot be reached. Please ask again later; the operator has the details.',
  timeout: 'The AI model did not answer in time. Please ask again.',
  auth: 'The AI model refused our access key. The operator has to renew it.',
  payment: 'The account at the AI provider needs payment. The operator has to look after it.',
  'bad-request': 'The AI model rejected the request. The operator has the details.',
  forbidden: 'The AI provider does not permit the request. The operator has to look at the account.',
  'model-gone': 'The AI model does not exist any more. The operator has to choose another one.',
  'context-length': 'This conversation has become too long for the AI model. Start afresh with /new.',
  'content-filter': 'The AI provider withheld the answer. Please ask in other words.',
  empty: 'The AI model returned no answer. Please ask again in other words.',
  malformed: 'The answer of the AI model broke off. Please ask again.',
  budget: 'The spending limit of this assistant is reached, so the AI model was not asked.',
  aborted: 'Stopped.',
};

/** Codes that say more than their kind. */
const OF_CODE: Readonly<Record<string, string>> = {
  // No limit was reached, and waiting does not help.
  GH1301: 'The disk is full, and what the AI model costs cannot be written down. The operator has to make room.',
  GH2113: 'The AI model was not asked because its price is not known. The operator has to set it.',
  GH2121: 'A rule of the operator keeps me from asking the AI model.',
  GH2119: 'The AI model ran out of room while thinking. Please ask a shorter question, or write /think low first.',
};

/** One short sentence for the chat, with the code to look up. Safe to send to anybody. */
export function failureText(failure: ModelFailure): string {
  if (failure.kind === 'aborted') return SENTENCES.aborted;
  const wait = waits(failure) ? ` Please ask again ${waitText(failure.retryAfterMs)}.` : '';
  return `${OF_CODE[failure.code] ?? SENTENCES[failure.kind]}${wait} (${failure.code})`;
}

/** A limit that no passing of time lifts has no wait. */
function waits({ kind, retryAfterMs }: ModelFailure): boolean {
  return kind === 'rate-limit' || (kind === 'budget' && retryAfterMs !== undefined);
}

function waitText(ms: number | undefined): string {
  if (ms === undefined) return 'in a minute';
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  if (seconds < 90) return `in ${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `in ${minutes} min` : `in ${Math.ceil(minutes / 60)} h`;
}

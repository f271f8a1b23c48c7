/**
 * What the operator is told: what happened, and the command that mends it. It has no words of a conversation
 * and none of a provider.
 */
import type { ModelFailure } from '../core/model.ts';
import { oneLine } from '../lib/one-line.ts';
import { limitText, usdText } from '../llm/money/with-budget.ts';
import type { SpendingQuestion, SpendingStepTaken } from '../llm/money/with-spending-steps.ts';
import { isWrongAddress } from '../llm/routing/failover.ts';
import type { OwnerNotice } from './owner.ts';

/** Longest quotation of what a platform said of itself, in UTF-16 units. */
const DETAIL_LIMIT = 300;

/**
 * Undefined for failures that pass, or that are the business of the person who asked (F26). `keyFrom` is
 * where the key was found: `login`, or a variable, which only a start reads.
 */
export function modelRefused(model: string, failure: ModelFailure, keyFrom?: string): OwnerNotice | undefined {
  const { kind, code } = failure;
  const [provider = model] = model.split('/');
  const store = `Run \`gatehouse auth set-key ${provider}\``;
  let mend = `${store} or export a key, and restart.`;
  if (keyFrom !== undefined) mend = keyFrom === 'login' ? `${store}.` : `Put a new one into ${keyFrom} and restart.`;
  const texts: Readonly<Record<string, string | undefined>> = {
    auth: `The provider refused our key for ${model} (${code}). ${mend}`,
    payment: `The provider wants payment before ${model} answers again (${code}). Add credit to the account at ${provider}.`,
    'model-gone': `The provider does not have ${model} (any more) (${code}). See \`gatehouse models catalog\`, and set "model" in the config.`,
    forbidden:
      `The provider does not permit requests for ${model} (${code}): a permission is missing, a guardrail is in the way, ` +
      `or the country is not served. Look at the account at ${provider}; the log has the details.`,
    'bad-request': isWrongAddress(failure)
      ? `What answers at the address of ${model} is not its API (${code}). Check "base_url" in the config; the log has the details.`
      : undefined,
  };
  const text = texts[kind];
  return text === undefined ? undefined : { key: `model ${kind} ${model}`, text: `⚠️ ${text}` };
}

/** Another key of the same model answers; only the operator can mend this one. */
export function keyRefused(model: string, variable: string, kind: ModelFailure['kind'], code: string): OwnerNotice {
  const why = kind === 'payment' ? 'wants payment for' : 'refused';
  const text = `⚠️ The provider of ${model} ${why} the key in ${variable} (${code}); another key answers. Put a new one there and restart.`;
  return { key: `key ${kind} ${variable}`, text };
}

/** Both as `provider/model`. */
export interface ReplacedModel {
  readonly from: string;
  readonly to: string;
}

export function modelReplaced({ from, to }: ReplacedModel): OwnerNotice {
  const text = `⚠️ The provider does not have ${from} any more. ${to} answers in its place; choose another one with "model" in the config.`;
  return { key: `model replaced ${from}`, text };
}

/**
 * Undefined but for the first call of the day that a limit stopped. One key for all senders, or a thousand of
 * them would be a thousand notices.
 */
export function spendingStopped(taken: SpendingStepTaken): OwnerNotice | undefined {
  if (taken.step !== 'stopped' || !taken.first) return undefined;
  const { unpriced } = taken;
  if (unpriced !== undefined) {
    const text =
      `⚠️ Every call of ${unpriced} is refused: its price is unknown, and there is ${limitText(taken)} (GH2113). ` +
      'Set "price" in model_hints of the config, or "allow_unknown_price" in budget.';
    return { key: `price ${unpriced}`, text };
  }
  const text =
    `⚠️ Spending is stopped: there is ${limitText(taken)}, and ${usdText(taken.spentUsd)} are spent. ` +
    `The call that met it was for ${oneLine(taken.context.sender, DETAIL_LIMIT)}. ` +
    'See `gatehouse usage`; raise it with "budget" in the config, which applies at once.';
  return { key: `budget ${taken.limit}`, text };
}

/**
 * `detail` must hold no secret (F34). Told for each cause: a revoked login is news also where the channel was
 * down this morning.
 */
export function channelDown(channel: string, detail: string | undefined): OwnerNotice {
  const why = detail === undefined ? '' : `: ${oneLine(detail, DETAIL_LIMIT)}`;
  const cause = detail === undefined ? undefined : /\bGH\d{4}\b/.exec(detail)?.[0];
  return {
    key: `channel ${channel} ${cause ?? 'without a code'}`,
    text: `⚠️ Channel ${channel} is down${why}. See \`gatehouse status\`.`,
    except: channel,
  };
}

/** Told once a day, however many strangers ask. */
export function strangersAsked(channel: string): OwnerNotice {
  const text =
    `⚠️ Someone who is not let in wrote on ${channel} today, and was given a code. See who asked with ` +
    '`gatehouse people pair list`; more may ask today, and you are told of the first only.';
  return { key: 'strangers', text };
}

/**
 * What is asked about one call that no longer fits a limit, and about those that meet it until the answer.
 */
export function spendingQuestion({ text, context }: SpendingQuestion, mostOfAPerson: number): string {
  const others = `A yes lets each request through that waits for it by then, at most ${mostOfAPerson} of one person.`;
  return `❓ ${text} It is for ${oneLine(context.sender, DETAIL_LIMIT)}. ${others}`;
}

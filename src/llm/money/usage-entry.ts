import { randomUUID } from 'node:crypto';
import type { UsageEntry } from '../../core/ledger.ts';
import type { ModelCallContext, Usage } from '../../core/model.ts';

interface Spent {
  readonly context: ModelCallContext;
  readonly at: number;
  readonly usage: Usage;
}

/** A ledger row for a call that no step records. `model` is `provider/model`; `kind` begins the row's id. */
export function usageEntry(kind: string, model: string, { context, at, usage }: Spent): UsageEntry {
  const { session, channel, sender, purpose, job } = context;
  const [provider = '', ...rest] = model.split('/');
  const who = { session, channel, sender, purpose, ...(job === undefined ? {} : { job }) };
  return { id: `${kind}-${randomUUID()}`, at, provider, model: rest.join('/'), costUsd: null, ...usage, ...who };
}

/** Of a call that brought its caller no answer, and is billed all the same. */
export function unfinishedEntry(model: string, { context, ...spent }: Spent): UsageEntry {
  return usageEntry('unfinished', model, { ...spent, context: { ...context, purpose: `${context.purpose}:unfinished` } });
}

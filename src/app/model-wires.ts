// a model of the config with its key -> the wire that calls it
import type { Logger } from '../core/ports.ts';
import { isLoopback } from '../llm/catalog/price.ts';
import { createWire, type WireDeps } from '../llm/create.ts';
import { type KeyRotationOptions, withKeyRotation } from '../llm/key-rotation.ts';
import type { WarmableModel } from '../llm/protocols/wire.ts';
import { type CurrentKey, withRenewedKey } from '../llm/renewed-key.ts';
import { createRetryGate, type RetryGate } from '../llm/retry.ts';
import { keyRefused } from '../operator/notices.ts';
import { currentLogin } from './current-login.ts';
import type { ModelEntry, ModelStackOptions } from './model-types.ts';

export function createEntryWire({ target, key }: ModelEntry, options: ModelStackOptions, deps: WireDeps): WarmableModel {
  const { login, operator, clock, logger } = options;
  const create = (value: string | undefined): WarmableModel => createWire(target, value, deps);
  if (key?.more) {
    const model = `${target.provider.name}/${target.model}`;
    const onResting: KeyRotationOptions['onResting'] = (rested, { kind, code }, next) => {
      logger.warn('model.key-rests', { model, key: rested.from, code, kind, next: next.from });
      if (kind !== 'rate-limit') void operator.owner.tell(keyRefused(model, rested.from, kind, code));
    };
    return withKeyRotation([key, ...key.more], create, { clock, onResting });
  }
  if (key?.from !== 'login') return create(key?.value());
  const current: CurrentKey = (signal) => currentLogin(target, login, signal);
  return withRenewedKey(key.value(), current, create);
}

/** All models of one key at one address share what a 429 said (F24). */
export class Gates {
  readonly #byKey = new Map<string, RetryGate>();

  of({ target, key }: ModelEntry): RetryGate {
    const name = `${target.baseUrl}\n${key?.value() ?? ''}`;
    const gate = this.#byKey.get(name) ?? createRetryGate();
    this.#byKey.set(name, gate);
    return gate;
  }
}

/** A warning and not a refusal: only the operator knows whether the network between is their own. */
export function warnOfPlainText({ target, key }: ModelEntry, logger: Logger): void {
  const { protocol, host } = new URL(target.baseUrl);
  const keyFrom = key?.from ?? target.credentials?.from;
  if (!keyFrom || protocol === 'https:' || isLoopback(target.baseUrl)) return;
  logger.warn('model.plain-text', {
    model: `${target.provider.name}/${target.model}`,
    detail: `its key (${keyFrom}) and every message go to ${host} unencrypted`,
    hint: 'use an https:// address in base_url',
  });
}

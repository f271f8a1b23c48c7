import { describeChoice, valueAt } from './check-value.ts';
import type { Finding } from './problem.ts';

/**
 * Checks what the schema of the whole file cannot: that the names of models are in `models`, and that time
 * limits fit each other.
 */
export function checkModels(value: unknown, original: unknown): readonly Finding[] {
  const names = Object.keys(recordAt(value, ['models']));
  const channels = listAt(value, ['gateway', 'channels']);
  const used: PropertyKey[][] = [
    ...Object.keys(recordAt(value, ['purposes'])).map((purpose) => ['purposes', purpose]),
    ...channels.flatMap((_, index): PropertyKey[][] => {
      const at = ['gateway', 'channels', index];
      const senders = Object.keys(recordAt(value, [...at, 'sender_models']));
      return [[...at, 'model'], ...senders.map((sender) => [...at, 'sender_models', sender])];
    }),
    ...Object.keys(recordAt(value, ['mcp_clients'])).map((client) => ['mcp_clients', client, 'model']),
  ];
  return [...used.flatMap((path) => checkName(path, names, value, original)), ...checkThinkingLimit(value)];
}

/** Default of `gateway.llm_timeout_secs`. */
const CALL_LIMIT_SECS = 300;

/** The limit of the whole call ends it whatever it does. */
function checkThinkingLimit(value: unknown): Finding[] {
  const path = ['gateway', 'llm_thinking_timeout_secs'];
  const [thinking, call = CALL_LIMIT_SECS] = [valueAt(value, path), valueAt(value, ['gateway', 'llm_timeout_secs'])];
  if (typeof thinking !== 'number' || typeof call !== 'number' || thinking <= call) return [];
  const message = `is longer than gateway.llm_timeout_secs (${call}), which ends the call first`;
  return [{ severity: 'warning', path, message, hint: `set gateway.llm_timeout_secs to more than ${thinking}` }];
}

function checkName(path: readonly PropertyKey[], names: readonly string[], value: unknown, original: unknown): Finding[] {
  const name = valueAt(value, path);
  if (typeof name !== 'string' || names.includes(name)) return [];
  if (names.length > 0) return [{ severity: 'error', path, ...describeChoice(names, valueAt(original, path)) }];
  return [
    { severity: 'error', path, message: 'must be a name in "models", and there is none', hint: 'add the section "models"' },
  ];
}

function recordAt(value: unknown, path: readonly PropertyKey[]): object {
  const found = valueAt(value, path);
  return typeof found === 'object' && found !== null ? found : {};
}

function listAt(value: unknown, path: readonly PropertyKey[]): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

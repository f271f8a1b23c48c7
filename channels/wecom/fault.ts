import type { ChannelHealth } from '../../src/core/channel.ts';
import { errorText, isGatehouseError } from '../../src/core/errors.ts';
import { CallError } from './call-error.ts';
import { isAuthFailure } from './outbound.ts';

/** What is wrong with the channel, as it is told to the operator. */
export interface Fault {
  readonly state: ChannelHealth;
  readonly detail: string;
}

/** What to do about each. */
const ADVICE: Readonly<Record<number, string>> = {
  40001: 'copy the Secret of the application again',
  40013: 'check the id of the company',
  60020: 'add the address of this machine to "Trusted IPs" of the application in the admin console',
  48002: 'the Secret belongs to something that may not send messages: use the one of a self-built application',
  50003: 'switch the application on in the admin console',
  301002: 'agent_id and the Secret belong to different applications',
};

/** `down` where the operator has to mend something, `degraded` where time may. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof CallError)) {
    return {
      state: 'down',
      detail: isGatehouseError(error) ? `${error.code}: ${error.message}; ${error.hint}` : errorText(error),
    };
  }
  const { failure, message } = error;
  if (!isAuthFailure(error)) return { state: 'degraded', detail: `GH1502: ${message}` };
  const advice = failure.kind === 'api' ? ADVICE[failure.errcode] : undefined;
  return { state: 'down', detail: `GH1501: ${message}; ${advice ?? 'check the application in the admin console'}` };
}

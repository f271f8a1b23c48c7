import { EventBus } from '../../bus/event-bus.ts';
import { errorText } from '../../core/errors.ts';
import { logEvents, Observations } from '../observe.ts';
import { type DaemonOptions, redactOf } from './options.ts';

/** The bus, with those that see every event: what `status` remembers, the log, and the caller. */
export function composeEvents(options: DaemonOptions): { readonly events: EventBus; readonly observations: Observations } {
  const { logger, observe } = options;
  const events = new EventBus((error) => logger.error('observer.failed', { detail: errorText(error) }));
  const observations = new Observations(redactOf(options));
  events.observe(observations.observe);
  events.observe(logEvents(logger));
  if (observe) events.observe(observe);
  return { events, observations };
}

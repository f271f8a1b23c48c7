import type { Model, ModelEvent, ModelRequest } from '../../core/model.ts';
import type { Clock, Logger } from '../../core/ports.ts';

/**
 * One line per call, `model.call`: model, purpose, tokens, cost, duration, time to the first token, failure code. No content,
 * and no provider's words, which may quote content. A call whose consumer left early is a line too (`outcome: left`).
 */
export function withLogging(model: Model, logger: Logger, clock: Clock): Model {
  return {
    id: model.id,
    contextWindow: model.contextWindow,
    ...(model.facts ? { facts: model.facts } : {}),
    ...(model.demo === undefined ? {} : { demo: model.demo }),
    call: (request, signal) => callAndLog(model, request, signal, logger, clock),
  };
}

async function* callAndLog(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  logger: Logger,
  clock: Clock,
): AsyncGenerator<ModelEvent> {
  const start = clock.monotonic();
  let firstAt: number | undefined;
  let end: ModelEvent | undefined;
  try {
    for await (const event of model.call(request, signal)) {
      if (event.type === 'text' || event.type === 'reasoning' || event.type === 'done') firstAt ??= clock.monotonic();
      // Before it is passed on: a consumer may leave with the last event in hand.
      if (event.type === 'done' || event.type === 'failed') end = event;
      yield event;
    }
  } finally {
    const ms = Math.round(clock.monotonic() - start);
    const ttftMs = firstAt === undefined ? undefined : Math.round(firstAt - start);
    log(logger, model, request, { ms, ...(ttftMs === undefined ? {} : { ttftMs }) }, end);
  }
}

function log(logger: Logger, model: Model, request: ModelRequest, times: object, end: ModelEvent | undefined): void {
  const call = { model: model.id, purpose: request.context.purpose };
  if (end?.type === 'done') {
    const { provider, model: name, usage, stop } = end.answer;
    logger.info('model.call', { ...call, model: `${provider}/${name}`, outcome: 'done', stop, ...usage, ...times });
  } else if (end?.type === 'failed') {
    const { kind, code, status } = end.failure;
    const data = { ...call, outcome: 'failed', kind, code, ...(status === undefined ? {} : { status }), ...times };
    // Stopped by whoever asked: nobody has to look into that.
    if (kind === 'aborted') logger.info('model.call', data);
    else logger.warn('model.call', data);
  } else {
    logger.info('model.call', { ...call, outcome: 'left', ...times });
  }
}

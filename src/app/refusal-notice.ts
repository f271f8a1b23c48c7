import type { FailureKind, Model } from '../core/model.ts';
import { modelRefused } from '../operator/notices.ts';
import type { Owner } from '../operator/owner.ts';

/**
 * Around each model of its own: when its provider refuses our key or wants payment, the operator is told, also where another model
 * then answers (F26). `about`: the kinds of failures to tell of.
 */
export function withRefusalNotice(
  model: Model,
  owner: Pick<Owner, 'tell'>,
  about: (kind: FailureKind) => boolean = () => true,
): Model {
  return {
    ...model,
    async *call(request, signal) {
      for await (const event of model.call(request, signal)) {
        const notice = event.type === 'failed' && about(event.failure.kind) ? modelRefused(model.id, event.failure) : undefined;
        if (notice) void owner.tell(notice);
        yield event;
      }
    },
  };
}

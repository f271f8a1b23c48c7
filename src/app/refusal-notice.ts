import type { FailureKind, Model } from '../core/model.ts';
import { modelRefused } from '../operator/notices.ts';
import type { Owner } from '../operator/owner.ts';

/**
 * Around each model of its own: when its provider refuses our key or wants payment, the operator is told,
 * also where another model then answers (F26). `about`: the kinds of failures to tell of. `keyFrom`: where
 * the key was found.
 */
export function withRefusalNotice(
  model: Model,
  owner: Pick<Owner, 'tell'>,
  about: (kind: FailureKind) => boolean = () => true,
  keyFrom?: string,
): Model {
  return {
    ...model,
    async *call(request, signal) {
      for await (const event of model.call(request, signal)) {
        const failure = event.type === 'failed' && about(event.failure.kind) ? event.failure : undefined;
        const notice = failure && modelRefused(model.id, failure, keyFrom);
        if (notice) void owner.tell(notice);
        yield event;
      }
    },
  };
}

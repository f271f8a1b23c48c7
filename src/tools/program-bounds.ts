import type { Bounds } from '../core/process.ts';
import type { ApprovalFacts } from '../core/tool.ts';

/**
 * What of a yes to a program is about its sandbox. The config may change while a question or a yes is open:
 * what was allowed without the network must not run with it.
 */
export function boundsFacts({ mode, network, readable, image }: Bounds): ApprovalFacts {
  const digest = { mode, network, readable: readable.toSorted(), image: image ?? null };
  if (mode === 'none') return { digest, shown: 'without a sandbox, with all that the user of the daemon may do' };
  const kind = image === undefined ? mode : `${mode}, image ${image}`;
  const more = readable.length === 0 ? '' : `, where it may also read ${readable.join(', ')}`;
  return { digest, shown: `in a sandbox (${kind}) ${network ? 'with' : 'without'} the network${more}` };
}

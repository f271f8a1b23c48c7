/** Steps of a run, as they lie in the journal. */
import type { Json } from './message.ts';
import type { Effect } from './tool.ts';

export interface StepRecord {
  readonly n: number;
  /** `note`: what a person said while the run was under way, `{text, at}`; or a run beside it, `{beside}`. */
  readonly kind: 'model' | 'tool' | 'note';
  /** Model: the answer. Tool: `{callId, name, result?}`. */
  readonly state: 'STARTED' | 'DONE';
  readonly callId?: string;
  readonly argsHash?: string;
  readonly value?: Json;
  /** These four record what was done. DONE keeps what STARTED said of them, except what it says anew. */
  readonly tool?: string;
  readonly effect?: Effect;
  /** Epoch ms; of the first attempt where a call ran again. */
  readonly startedAt?: number;
  /** Epoch ms. Absent of a call that began = it is not known whether it took effect. */
  readonly endedAt?: number;
  /** Bits of what the run had read by then, its own result included (runs.md M4). Absent = 0. */
  readonly taint?: number;
  /** How far its run is with it, from 0 to 100. Absent = no farther than before. */
  readonly progress?: number;
  /** Id of the wait or grant that allowed the call. */
  readonly approvedBy?: string;
}

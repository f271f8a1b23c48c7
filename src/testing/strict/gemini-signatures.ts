/**
 * Thought signatures (https://ai.google.dev/gemini-api/docs/thought-signatures): issued on the first call of
 * an answer, else on its last text part; bound to the model and to the part. Counters: `dummySignatures` (the
 * placeholder, sent in place of any), of these `lostSignatures` (sent for a call that this server had
 * signed), `droppedTextSignatures`.
 */
import { geminiModel } from './gemini-models.ts';
import { type Content, callsIn, contentsOf, invalidArgument, modelOf, responsesIn } from './gemini-shapes.ts';
import { type Json, record } from './json-shapes.ts';
import type { Memory } from './memory.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

/** Accepted for calls of other models; the thoughts behind them are lost. */
const PLACEHOLDER = 'skip_thought_signature_validator';

interface Issued {
  readonly model: string;
  /** What the part says: the call, or the text of the answer. */
  readonly part: string;
}

/** A signature for that part. Undefined for models that give none. */
export function issueSignature(part: Json, request: StrictRequest, memory: Memory): string | undefined {
  const model = modelOf(request);
  if (!geminiModel(model).demandsSignatures) return undefined;
  const signature = memory.nextId('EuYBCuMBAXLI2n', 44);
  const says = contentOf(part);
  memory.issued.set(signature, { model, part: says } satisfies Issued);
  memory.issued.set(`${model} ${says}`, signature);
  return signature;
}

export function checkSignatures(request: StrictRequest, memory: Memory): Refusal | undefined {
  const contents = contentsOf(request);
  const model = modelOf(request);
  const turn = contents.findLastIndex((content) => content.role === 'user' && responsesIn(content).length === 0);
  for (const [at, content] of contents.entries()) {
    if (content.role !== 'model') continue;
    for (const part of content.parts) {
      const refusal = checkSignature(part, model, memory);
      if (refusal !== undefined) return refusal;
    }
    countDroppedText(content, model, memory);
    const [first] = callsIn(content);
    if (at < turn || first === undefined || first['thoughtSignature'] !== undefined) continue;
    if (geminiModel(model).demandsSignatures) return missing(first, at);
  }
  return undefined;
}

function checkSignature(part: Json, model: string, memory: Memory): Refusal | undefined {
  const { thoughtSignature: signature } = part;
  if (signature === undefined) return undefined;
  if (signature === PLACEHOLDER) {
    memory.add('dummySignatures');
    if (memory.issued.has(`${model} ${contentOf(part)}`)) memory.add('lostSignatures');
    return undefined;
  }
  const issued = memory.issued.get(String(signature)) as Issued | undefined;
  // The signature of a text may come back on the empty part in which it came, or on the text.
  const same = issued?.part === contentOf(part) || (issued?.part.startsWith('text ') && part['text'] === '');
  return issued?.model === model && same ? undefined : invalidArgument('Corrupted thought signature.');
}

/** https://github.com/lbjlaq/Antigravity-Manager/issues/139 */
function missing({ functionCall }: Json, at: number): Refusal {
  const { name } = record(functionCall);
  return invalidArgument(
    `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${String(name)}\`, position ${at + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
  );
}

/** No error, but the model then tends to end its turns early. */
function countDroppedText({ parts }: Content, model: string, memory: Memory): void {
  const text = parts.filter(({ thought }) => thought !== true).map((part) => part['text'] ?? '');
  const issued = memory.issued.has(`${model} ${contentOf({ text: text.join('') })}`);
  if (issued && !parts.some(({ thoughtSignature }) => thoughtSignature !== undefined)) memory.add('droppedTextSignatures');
}

function contentOf({ functionCall, text }: Json): string {
  if (functionCall === undefined) return `text ${String(text ?? '')}`;
  const { name, args } = record(functionCall);
  return `call ${String(name)} ${JSON.stringify(args ?? {})}`;
}

/** What the server is told to do wrong with messages of the device. */
import type { BinaryNode } from '@whiskeysockets/baileys';

/** What becomes of the next message of the device. */
export type SendFault =
  | { readonly kind: 'refuse'; readonly code: number }
  /** From now on every edit is refused; whatever else is sent passes. */
  | { readonly kind: 'refuse-edits' }
  | { readonly kind: 'lose' }
  | { readonly kind: 'cut' }
  /** Confirmed after so many ms, default 300, or when the test says so. */
  | { readonly kind: 'hold'; readonly ms?: number; readonly until?: Promise<unknown> };

/** The fault of this message, which is used up unless it holds for all edits. */
export function takeFault(faults: SendFault[], { attrs }: BinaryNode): SendFault | undefined {
  const [first] = faults;
  if (first?.kind !== 'refuse-edits') return faults.shift();
  return attrs['edit'] === '1' ? first : undefined;
}

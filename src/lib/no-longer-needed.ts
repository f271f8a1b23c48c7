/**
 * The reason to abort what is no longer waited for. `abort()` without a reason makes a DOMException with a
 * stack trace each time: with about ten aborts per message that was the largest single cost of a message
 * beside the journal.
 */
export const NO_LONGER_NEEDED = new Error('no longer needed');

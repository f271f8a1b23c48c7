/** Read by both sides, of which the driver loads as little as it can. */

/** Of a page's text, in UTF-16 units; more is cut, and said. What the model is not shown lies in a file. */
export const MAX_TEXT_CHARS = 256 * 1024;
export const MAX_ELEMENTS = 50;
export const MAX_LINKS = 200;
export const MAX_PNG_BYTES = 5 * 1024 ** 2;
export const MAX_URL_CHARS = 2_000;
export const MAX_TITLE_CHARS = 300;
export const MAX_NOTES = 8;
export const MAX_NOTE_CHARS = 500;

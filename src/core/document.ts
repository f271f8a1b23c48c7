/** What documents of strangers say, read where a hostile one harms nothing, and documents made for people. */

export interface DocumentRequest {
  /** At most 10 MiB. */
  readonly file: Uint8Array;
  /** Of a PDF, counted from 1. */
  readonly firstPage: number;
  readonly lastPage?: number | undefined;
  readonly maxChars: number;
  readonly callId: string;
}

/**
 * `pages` is undefined for a kind that has none until it is printed. `goOn` is the page to go on with, where
 * the text was cut before the last one that was asked for. The reason is a sentence for the model.
 */
export type DocumentText =
  | {
      readonly kind: 'read';
      readonly type: 'pdf' | 'docx';
      /** Markdown, of a PDF plain text under a line for each page. */
      readonly text: string;
      readonly title: string;
      readonly pages?: number | undefined;
      readonly goOn?: number | undefined;
      readonly isComplete: boolean;
    }
  | { readonly kind: 'failed'; readonly reason: string };

export interface DocxRequest {
  readonly markdown: string;
  /** By the address that the Markdown has for them. One that is no PNG, JPEG or GIF is shown by its words. */
  readonly pictures: Readonly<Record<string, Uint8Array>>;
  readonly callId: string;
}

export type Docx =
  | { readonly kind: 'made'; readonly file: Uint8Array }
  /** The reason is a sentence for the model. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Both reject as `Spawner.run` does. */
export interface Documents {
  read(request: DocumentRequest, signal: AbortSignal): Promise<DocumentText>;
  toDocx(request: DocxRequest, signal: AbortSignal): Promise<Docx>;
}

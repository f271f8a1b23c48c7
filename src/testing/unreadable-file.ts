/** A regular file of Linux that reading from its beginning fails for with EIO, for root too. */
export const UNREADABLE_NOW = '/proc/self/mem';

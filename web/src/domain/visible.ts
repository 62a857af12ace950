// Characters that change how others are shown, or that nobody sees: controls, marks of
// direction, widths of zero, separators of lines, tags.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu

/** Other people's text with nothing hidden in it. */
export function visible(text: string): string {
  return text.replace(hidden, c => `\\u{${c.codePointAt(0)!.toString(16)}}`)
}

// A spreadsheet takes a cell that begins so for a formula.
const formula = /^[=+\-@\t\r]/

function cell(value: string | number | boolean | null | undefined): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = formula.test(text) ? "'" + text : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Lines of a CSV file (RFC 4180): what is in a cell is never a formula. */
export function csv(rows: Array<Array<string | number | boolean | null | undefined>>): string {
  return rows.map(r => r.map(cell).join(',') + '\r\n').join('')
}

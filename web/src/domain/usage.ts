/** What was counted of a row, a key or a scope type. */
export interface Counted {
  id: string
  matched: number
  soleMatch: number
  gateAllow: number
  gateDeny: number
  visibilityAllow: number
  visibilityDeny: number
  buckets: Array<{ at: number; count: number }>
  /** The time that was asked about. */
  from: number
  to: number
}

type Raw = Record<string, unknown>
const n = (of: Raw, name: string) => (typeof of[name] === 'number' ? (of[name] as number) : 0)

/** Usage as any dimension answers it, most used first. */
export function counted(usage: unknown): Counted[] {
  if (!Array.isArray(usage)) return []
  return (usage as Raw[])
    .map(r => ({
      id: String(r.rowId ?? r.permission ?? ''),
      matched: n(r, 'matched'), soleMatch: n(r, 'soleMatch'),
      gateAllow: n(r, 'gateAllow'), gateDeny: n(r, 'gateDeny'), visibilityAllow: n(r, 'visibilityAllow'), visibilityDeny: n(r, 'visibilityDeny'),
      buckets: (Array.isArray(r.buckets) ? (r.buckets as Raw[]) : []).map(b => ({ at: n(b, 'bucket'), count: total(b) })),
      from: n(r, 'windowStart'), to: n(r, 'windowEnd'),
    }))
    .sort((a, b) => sum(b) - sum(a) || (a.id < b.id ? -1 : 1))
}

const total = (b: Raw) => n(b, 'matched') + n(b, 'gateAllow') + n(b, 'gateDeny') + n(b, 'visibilityAllow') + n(b, 'visibilityDeny')
const sum = (c: Counted) => c.matched + c.gateAllow + c.gateDeny + c.visibilityAllow + c.visibilityDeny

/** The counts as so many bars of equal time, the same time for every row. */
export function bars({ buckets, from, to }: Counted, many: number): number[] {
  const out = Array.from({ length: many }, () => 0)
  for (const b of buckets) out[Math.max(0, Math.min(many - 1, Math.floor(((b.at - from) / Math.max(1, to - from)) * many)))]! += b.count
  return out
}

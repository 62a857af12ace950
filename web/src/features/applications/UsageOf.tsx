import { useMemo } from 'react'
import { isFailure } from '../../api/errors.ts'
import { useAsk } from '../../api/queries.ts'
import type { Application } from '../../api/schema.gen.ts'
import { bars, type Counted, counted } from '../../domain/usage.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, number } from '../../ui/Id.tsx'
import { Empty, Waiting } from '../../ui/States.tsx'
import { useSpot } from './Application.tsx'
import { Trouble } from './Review.tsx'

const words = apps.usage
const dimensions = Object.keys(words.dimensions)
const day = 86_400_000
const spans: Record<string, number> = { day, week: 7 * day, month: 30 * day }
const hour = 3_600_000

/** What the application counted: which rows decided, and which keys were asked. */
export function UsageOf({ org, of: a }: { org: string; of: Application }) {
  const { search, set } = useSpot()
  const of = dimensions.includes(search.of ?? '') ? search.of! : 'permissions'
  const span = search.since && search.since in spans ? search.since : 'all'
  const q = search.q ?? ''
  const hours = Math.floor(Date.now() / hour) // the same question within an hour
  const since = useMemo(() => (span === 'all' ? undefined : hours * hour - spans[span]!), [span, hours])
  const asked = useAsk('GET /orgs/{org}/applications/{app}/usage/{dimension}', { path: { org, app: a.id, dimension: of }, query: { since } }, { on: a.state !== 'registered' })
  if (a.state === 'registered') return <Empty title={apps.access.notLinked} />
  const rows = counted(asked.data?.usage).filter(r => r.id.toLowerCase().includes(q.toLowerCase()))
  const checks = of === 'permissions' || of === 'scope-types'
  const n = (value: number) => <span className={value ? undefined : 'dim'}>{number.format(value)}</span>
  const columns: Array<Column<Counted>> = [
    { id: 'id', title: of === 'permissions' ? words.key : of === 'scope-types' ? words.type : words.row, width: 'minmax(0, 2fr)', cell: r => <Id of={r.id} /> },
    ...(checks
      ? [
          { id: 'allow', title: words.allowed, width: '84px', cell: (r: Counted) => n(r.gateAllow) },
          { id: 'deny', title: words.denied, width: '84px', cell: (r: Counted) => n(r.gateDeny) },
          { id: 'shown', title: words.shown, width: '84px', least: true, cell: (r: Counted) => n(r.visibilityAllow) },
          { id: 'hidden', title: words.hiddenCount, width: '84px', least: true, cell: (r: Counted) => n(r.visibilityDeny) },
        ]
      : [
          { id: 'matched', title: words.matched, width: '96px', cell: (r: Counted) => n(r.matched) },
          { id: 'sole', title: words.sole, width: '96px', cell: (r: Counted) => n(r.soleMatch) },
        ]),
    { id: 'over', title: words.over, width: '132px', least: true, cell: r => <Trend of={r} /> },
  ]
  return (
    <>
      <div className="filters">
        <div className="chips" role="group" aria-label={words.what}>
          {dimensions.map(d => <button key={d} type="button" className="chip" aria-pressed={d === of} onClick={() => set({ of: d, q: undefined }, false)}>{words.dimensions[d]}</button>)}
        </div>
        <select className="input" aria-label={words.since} value={span} onChange={e => set({ since: e.target.value })}>
          {Object.entries(words.spans).map(([id, label]) => <option key={id} value={id}>{words.since}: {label}</option>)}
        </select>
        <Filter first label={words.filter} value={q} onChange={q => set({ q })} />
      </div>
      <p className="dim small">{checks ? words.hint : words.soleHint}</p>
      {isFailure(asked.error, 'unsupported') ? <Empty title={words.off}><p>{words.offHint}</p></Empty> : asked.error ? <Trouble of={asked.error} retry={() => void asked.refetch()} /> : asked.isPending ? <Waiting /> : (
        <Grid label={words.dimensions[of]!} columns={columns} rowId={r => r.id} rows={rows} isLoading={asked.isFetching} empty={<Empty title={q ? t.grid.hidden : words.none} />} />
      )}
    </>
  )
}

const size = { width: 120, height: 20 }

/** How often, over time: the numbers beside it tell the sum. */
function Trend({ of: r }: { of: Counted }) {
  const drawn = bars(r, 24)
  const most = Math.max(1, ...drawn)
  const wide = size.width / 24
  const label = words.trend(drawn.reduce((sum, v) => sum + v, 0), new Date(r.from).toISOString().slice(0, 10))
  return (
    <svg className="trend" {...size} role="img" aria-label={label}>
      {drawn.map((v, i) => v > 0 && <rect key={i} x={i * wide} width={wide - 1} y={size.height - Math.max(2, (v / most) * size.height)} height={Math.max(2, (v / most) * size.height)} />)}
    </svg>
  )
}

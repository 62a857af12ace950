import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useMe, useOrg, usePages } from '../../api/queries.ts'
import type { Seat } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { seats as t } from '../../text/seats.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { kinds, State } from './State.tsx'

const states = ['active', 'invited', 'removed'] as const
const invites = 'cloud.seats.invite_seat'

const columns: Array<Column<Seat>> = [
  { id: 'user', title: t.user, width: 'minmax(0, 1fr)', cell: s => <Name of={s.userId} /> },
  { id: 'kind', title: t.kind, width: '150px', cell: s => t.kinds[s.kind] ?? s.kind },
  { id: 'state', title: t.state, width: '84px', cell: s => <State of={s.state} /> },
  { id: 'name', title: t.name, width: 'minmax(0, 1fr)', least: true, cell: s => <span className="dim"><Name of={[s.displayName, s.email].filter(Boolean).join(' · ')} /></span> },
  { id: 'seen', title: t.seen, width: '150px', least: true, cell: s => <span className="dim">{s.lastSeenAt ? <Time at={s.lastSeenAt} /> : t.never}</span> },
]

/** Who has a seat in the org. */
export function Seats() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/seats' })
  const { q = '', ...chosen } = useSearch({ from: '/signed-in/orgs/$org/seats' })
  const kind = kinds.find(k => k === chosen.kind)
  const state = states.find(s => s === chosen.state)
  const me = useMe()
  const pages = usePages('GET /orgs/{org}/seats', { path: { org }, query: { q, ...(kind ? { kind } : {}), ...(state ? { state } : {}) } }, p => p.seats)
  const set = (next: { q?: string; kind?: string; state?: string }) => void navigate({ search: old => ({ ...old, ...next }), replace: true })
  return (
    <Page
      title={t.title} lead={t.lead} full
      actions={holds(me.data, invites) === 'yes' ? <Link className="button main" to="/orgs/$org/invite" params={{ org }}>{t.invite}</Link> : <Button reason={all.needs(invites)}>{t.invite}</Button>}
    >
      <div className="filters">
        <Filter first label={t.find} value={q} onChange={q => set({ q })} />
        <select className="input" aria-label={t.kind} value={kind ?? ''} onChange={e => set({ kind: e.target.value || undefined })}>
          <option value="">{t.anyKind}</option>
          {kinds.map(k => <option key={k} value={k}>{t.kinds[k]}</option>)}
        </select>
        <select className="input" aria-label={t.state} value={state ?? ''} onChange={e => set({ state: e.target.value || undefined })}>
          <option value="">{t.anyState}</option>
          {states.map(s => <option key={s} value={s}>{t.states[s]}</option>)}
        </select>
      </div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <Grid
          label={t.title} columns={columns} rowId={s => s.userId} {...pages.grid} onOpen={s => void navigate({ to: '/orgs/$org/seats/$id', params: { org, id: s.userId } })}
          empty={<Empty title={q || kind || state ? all.grid.hidden : t.none} />}
        />
      )}
    </Page>
  )
}

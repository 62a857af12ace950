import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMe, useOrg, usePages } from '../../api/queries.ts'
import type { APIKey } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { keys as t } from '../../text/keys.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { ActsAs, kinds, manages, State } from './state.tsx'

const columns: Array<Column<APIKey>> = [
  { id: 'name', title: t.name, width: 'minmax(0, 1fr)', cell: k => <Name of={k.name} /> },
  { id: 'kind', title: t.kind, width: '150px', cell: k => t.kinds[k.kind] ?? k.kind },
  { id: 'of', title: t.of, width: 'minmax(0, 1fr)', cell: k => <ActsAs of={k} /> },
  { id: 'state', title: t.state, width: '84px', cell: k => <State of={k} /> },
  { id: 'expires', title: t.expires, width: '108px', least: true, cell: k => <span className="dim">{k.expiresAt ? <Time at={k.expiresAt} date /> : t.never}</span> },
  { id: 'used', title: t.used, width: '150px', least: true, cell: k => <span className="dim">{k.lastUsedAt ? <Time at={k.lastUsedAt} /> : t.notUsed}</span> },
]

/** The credentials of programs. */
export function Keys() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/keys' })
  const search = useSearch({ from: '/signed-in/orgs/$org/keys' })
  const kind = kinds.find(k => k === search.kind)
  const revoked = search.revoked === 'yes' ? true : search.revoked === 'any' ? undefined : false
  const me = useMe()
  const pages = usePages('GET /orgs/{org}/api-keys', { path: { org }, query: { ...(kind ? { kind } : {}), ...(revoked === undefined ? {} : { revoked }) } }, p => p.apiKeys)
  const set = (next: { kind?: string; revoked?: string }) => void navigate({ search: old => ({ ...old, ...next }), replace: true })
  // Publisher keys are gated at the application of their namespace: who has that alone makes them too.
  const may = me.data?.permissions.account.some(h => h.key === manages) ?? false
  return (
    <Page
      title={t.title} lead={t.lead} full
      actions={may ? <Link className="button main" to="/orgs/$org/keys/new" params={{ org }}>{t.new}</Link> : <Button reason={all.needs(manages)}>{t.new}</Button>}
    >
      <div className="filters">
        <select className="input" aria-label={t.kind} value={kind ?? ''} onChange={e => set({ kind: e.target.value || undefined })}>
          <option value="">{t.anyKind}</option>
          {kinds.map(k => <option key={k} value={k}>{t.kinds[k]}</option>)}
        </select>
        <div className="chips" role="group" aria-label={t.ends}>
          {([[undefined, t.live], ['yes', t.revoked], ['any', t.any]] as const).map(([value, label]) => (
            <button key={label} type="button" className="chip" aria-pressed={search.revoked === value} onClick={() => set({ revoked: value })}>{label}</button>
          ))}
        </div>
      </div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <Grid
          label={t.title} columns={columns} rowId={k => k.id} {...pages.grid} onOpen={k => void navigate({ to: '/orgs/$org/keys/$id', params: { org, id: k.id } })}
          empty={<Empty title={kind || search.revoked ? all.grid.hidden : t.none}><p>{t.noneHint}</p></Empty>}
        />
      )}
    </Page>
  )
}

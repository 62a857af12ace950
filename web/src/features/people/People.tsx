import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { usePages, useOrg } from '../../api/queries.ts'
import type { User } from '../../api/schema.gen.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { p } from '../../text/people.ts'
import { t } from '../../text/en.ts'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Name } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { Edges } from './Edges.tsx'

const columns: Array<Column<User>> = [
  { id: 'id', title: t.people.id, width: 'minmax(0, 1fr)', cell: u => <Name of={u.userId} /> },
  { id: 'state', title: t.people.state, width: '120px', cell: u => (u.active ? <span className="dim">{t.people.active}</span> : <span className="tag no">{t.people.inactive}</span>) },
]

export function People() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/people' })
  const { q = '', active, list } = useSearch({ from: '/signed-in/orgs/$org/people' })
  const typed = parseSubject(q)
  const prefix = typed.kind === 'user' ? typed.id : q
  const pages = usePages('GET /orgs/{org}/org/users', { path: { org }, query: { q: prefix, active: active === undefined ? undefined : active === 'yes' } as never }, of => of.users, { on: list !== 'managers' })
  const set = (next: { q?: string; active?: string; list?: string }) => void navigate({ search: old => ({ ...old, ...next }), replace: true })
  const open = (id: string) => void navigate({ to: '/orgs/$org/people/$id', params: { org, id } })
  const complete = pages.pages?.every(of => of.complete) ?? true
  const here = pages.list.some(u => u.userId === prefix)
  return (
    <Page title={t.people.title} lead={t.people.lead} full>
      <div className="chips" role="group" aria-label={p.listed}>
        {([[undefined, p.peopleList], ['managers', p.managersList]] as const).map(([value, label]) => <button key={label} type="button" className="chip" aria-pressed={list === value} onClick={() => set({ list: value })}>{label}</button>)}
      </div>
      {list === 'managers' ? <Edges org={org} onOpen={open} /> : (
        <>
          <div className="filters">
            <Filter first label={t.people.find} value={q} onChange={q => set({ q })} />
            <div className="chips" role="group" aria-label={t.people.state}>
              {([[undefined, t.people.all], ['yes', t.people.active], ['no', t.people.inactive]] as const).map(([value, label]) => (
                <button key={label} type="button" className="chip" aria-pressed={active === value} onClick={() => set({ active: value })}>{label}</button>
              ))}
            </div>
            {prefix && !here && !pages.grid.isLoading && <Link className="button" to="/orgs/$org/people/$id" params={{ org, id: prefix }}>{t.people.openTyped} <Name of={prefix} /></Link>}
          </div>
          {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
            <Grid
              label={t.people.title} columns={columns} rowId={u => u.userId} onOpen={u => open(u.userId)} {...pages.grid}
              empty={<Empty title={q || active ? t.grid.hidden : t.people.none}><p>{q ? t.people.noneHint : ''}</p></Empty>}
              foot={!complete && <span>{t.people.incomplete}</span>}
            />
          )}
        </>
      )}
    </Page>
  )
}

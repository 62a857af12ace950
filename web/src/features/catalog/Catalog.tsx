import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useAsk, useOrg } from '../../api/queries.ts'
import { type Branch, type Document, type Entry, entriesOf, tree } from '../../domain/documents.ts'
import { visible } from '../../domain/visible.ts'
import { t as all } from '../../text/en.ts'
import { catalog as t } from '../../text/registry.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Loaded } from '../../ui/States.tsx'

const pathsOf = (b: Branch): string[] => [b.path, ...b.below.flatMap(pathsOf)]
const many = 600 // keys that are drawn at once without being asked for

/** Every key as the tree of its groups; what is looked for as a list. */
export function Catalog() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/catalog' })
  const { q = '' } = useSearch({ from: '/signed-in/orgs/$org/catalog' })
  const catalogs = useAsk('GET /orgs/{org}/org/catalog', { path: { org } })
  const roots = useMemo(() => tree((catalogs.data?.namespaces ?? []).map(n => (n.document ?? {}) as Document)), [catalogs.data])
  return (
    <Page title={t.title} lead={t.lead} full={q !== ''}>
      <div className="filters"><Filter first label={t.find} value={q} onChange={q => void navigate({ search: { q }, replace: true })} /></div>
      <Loaded of={catalogs}>{() => (roots.length === 0 ? <div className="card"><Empty title={t.none}><p>{t.noneHint}</p></Empty></div> : q ? null : <Tree org={org} roots={roots} />)}</Loaded>
      {q && roots.length > 0 && <Found org={org} q={q} roots={roots} />}
    </Page>
  )
}

function Tree({ org, roots }: { org: string; roots: Branch[] }) {
  const small = roots.reduce((sum, r) => sum + r.count, 0) <= many
  const own = roots.filter(r => r.path !== 'authz_internal')
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(small ? own.flatMap(pathsOf) : []))
  const toggle = (path: string) => {
    const next = new Set(open)
    if (!next.delete(path)) next.add(path)
    setOpen(next)
  }
  return (
    <div className="stack close">
      {small && <div className="row"><Button small onPress={() => setOpen(new Set(roots.flatMap(pathsOf)))}>{t.all}</Button><Button small onPress={() => setOpen(new Set())}>{t.less}</Button></div>}
      <div className="card"><ul className="tree">{roots.map(b => <Limb key={b.path} org={org} of={b} open={open} onToggle={toggle} />)}</ul></div>
    </div>
  )
}

function Limb({ org, of: b, open, onToggle }: { org: string; of: Branch; open: ReadonlySet<string>; onToggle: (path: string) => void }) {
  const isOpen = open.has(b.path)
  return (
    <li>
      <button type="button" className="limb" aria-expanded={isOpen} onClick={() => onToggle(b.path)}>
        <span className="twist" aria-hidden="true">{isOpen ? '▾' : '▸'}</span>
        <Id of={b.path} />
        {b.label && <strong><Name of={b.label} /></strong>}
        <span className="dim small">{t.keys(b.count)}</span>
        {b.description && <span className="dim small"><Name of={b.description} /></span>}
      </button>
      {isOpen && (
        <ul>
          {b.below.map(c => <Limb key={c.path} org={org} of={c} open={open} onToggle={onToggle} />)}
          {b.entries.map(e => (
            <li key={e.key} className="leaf">
              <Link to="/orgs/$org/explain" params={{ org }} search={{ key: e.key }} aria-label={t.explain(visible(e.key))}><Id of={e.name || e.key} /></Link>
              <span className="grow"><Name of={e.description} /></span>
              <Tags of={e} />
              <span className="dim small">{e.scopes.length ? t.at(e.scopes.map(visible)) : t.everywhere}</span>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

function Tags({ of: e }: { of: Entry }) {
  return <>{e.destructive && <span className="tag no">{t.destructive}</span>}{e.condition && <span className="tag">{t.condition}</span>}{e.implied && <span className="tag">{t.implied}</span>}</>
}

function Found({ org, q, roots }: { org: string; q: string; roots: Branch[] }) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  const rows = roots.flatMap(entriesOf).filter(e => words.every(w => e.key.toLowerCase().includes(w) || e.description.toLowerCase().includes(w)))
  const columns: Array<Column<Entry>> = [
    { id: 'key', title: t.key, width: 'minmax(0, 1fr)', cell: e => <Link to="/orgs/$org/explain" params={{ org }} search={{ key: e.key }} aria-label={t.explain(visible(e.key))}><Id of={e.key} /></Link> },
    { id: 'description', title: t.description, width: 'minmax(0, 1fr)', cell: e => <span className="keeps"><span className="cut"><Name of={e.description} /></span><Tags of={e} /></span> },
    { id: 'where', title: t.where, width: 'minmax(0, 1.2fr)', least: true, cell: e => <span className="dim">{e.scopes.length ? t.at(e.scopes.map(visible)) : t.everywhere}</span> },
  ]
  return <Grid label={t.title} rows={rows} columns={columns} rowId={e => e.key} empty={<Empty title={all.grid.hidden} />} />
}

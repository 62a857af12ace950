import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useAsk, usePages } from '../../api/queries.ts'
import type { HeldKey2 } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { Filter } from '../../ui/Filter.tsx'
import { Id } from '../../ui/Id.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'

/** Which keys somebody holds at a scope, and at which scopes a key: as the application lists them. */
export function Held({ org, id }: { org: string; id: string }) {
  const navigate = useNavigate({ from: '/orgs/$org/people/$id' })
  const { scope = '*' } = useSearch({ from: '/signed-in/orgs/$org/people/$id' })
  const [open, setOpen] = useState('')
  const keys = usePages('GET /orgs/{org}/org/what-can', { path: { org }, query: { userId: id, scope } }, p => p.keys)
  const groups = new Map<string, HeldKey2[]>()
  for (const k of keys.list) {
    const group = k.key.slice(0, k.key.lastIndexOf('.'))
    groups.set(group, [...(groups.get(group) ?? []), k])
  }
  return (
    <>
      <div className="filters">
        <Filter first mono label={t.person.atScope} placeholder={t.explain.scopeHint} value={scope === '*' ? '' : scope} onChange={s => void navigate({ search: old => ({ ...old, scope: s || undefined }), replace: true })} />
        <span className="dim">{keys.pages && t.person.held(keys.list.length, keys.grid.hasMore)} {scope === '*' ? t.everywhere : ''}</span>
      </div>
      {keys.error ? <Failed of={keys.error} retry={() => void keys.refetch()} /> : !keys.pages ? <Waiting /> : keys.list.length === 0 ? <p className="dim">{t.person.noKeys}</p> : (
        <div className="flow">
          {[...groups].map(([group, list]) => (
            <section className="card" key={group}>
              <header><h2 className="mono">{group}</h2><span className="small dim">{list.length}</span></header>
              <ul className="stack tight">
                {list.map(k => (
                  <li key={k.key}>
                    <span className="row far">
                      <Link to="/orgs/$org/explain" params={{ org }} search={{ user: id, key: k.key, scope }}><Id of={k.key.slice(group.length + 1)} /></Link>
                      <span className="row">
                        {k.implied && <span className="tag">{t.explain.implied}</span>}
                        {k.requiresCondition && <span className="tag mind">{t.person.condition}</span>}
                        <button type="button" className="button bare small" aria-expanded={open === k.key} onClick={() => setOpen(open === k.key ? '' : k.key)}>{t.person.where}</button>
                      </span>
                    </span>
                    {open === k.key && <Where org={org} id={id} k={k.key} />}
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </div>
      )}
    </>
  )
}

const most = 50

function Where({ org, id, k }: { org: string; id: string; k: string }) {
  const scopes = useAsk('GET /orgs/{org}/org/where-can', { path: { org }, query: { userId: id, key: k, limit: most } })
  if (scopes.error) return <Failed of={scopes.error} retry={() => void scopes.refetch()} />
  if (!scopes.data) return <Waiting lines={2} />
  return (
    <ul className="stack tight nested">
      {scopes.data.scopes.map(s => <li key={s.scope}>{s.scope === '*' ? t.everywhere : <Id of={s.scope} />}{s.except?.length ? <span className="dim"> {t.person.except} {s.except.join(', ')}</span> : null}</li>)}
      {scopes.data.nextCursor && <li className="small dim">{t.explain.first(most)}</li>}
    </ul>
  )
}

import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { holds, holdsAnywhere } from '../../api/gates.ts'
import { useOnce } from '../../api/once.ts'
import { queries, readAnew, useAsk, useMe, useOrg, usePages } from '../../api/queries.ts'
import type { Grant } from '../../api/schema.gen.ts'
import { applyFile } from '../../domain/grants.ts'
import { t } from '../../text/en.ts'
import { gr } from '../../text/grants.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { ScopeLink, SubjectLink, Time, Until, What } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Expiry, Swap } from './Alter.tsx'
import { grantsKey } from './gate.ts'
import { Homes } from './Homes.tsx'
import { OneGrant } from './OneGrant.tsx'
import { TakeAway } from './TakeAway.tsx'

const atOnce = 1000 // of one commit

export function Grants() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/grants' })
  const search = useSearch({ from: '/signed-in/orgs/$org/grants' })
  const { home = '', subject = '', role = '', scope = '', open } = search
  const me = useMe()
  const once = useOnce()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [taking, setTaking] = useState<{ how: 'remove' | 'expiry' | 'swap'; grants: Grant[] } | null>(null)
  const query = { subject, roleId: role, scope: scope || undefined }
  const path = { org, app: home }
  const root = usePages('GET /orgs/{org}/org/grants', { path: { org }, query }, p => p.grants as Grant[], { on: home === '' })
  const app = usePages('GET /orgs/{org}/applications/{app}/grants', { path, query }, p => p.grants, { on: home !== '' })
  const rootCount = useAsk('GET /orgs/{org}/org/grants/count', { path: { org }, query }, { on: home === '' })
  const appCount = useAsk('GET /orgs/{org}/applications/{app}/grants/count', { path, query }, { on: home !== '' })
  const pages = home ? app : root
  const total = (home ? appCount : rootCount).data?.count
  const set = (next: Partial<typeof search>, replace = true) => {
    setChosen(new Set())
    void navigate({ search: old => ({ ...old, open: undefined, ...next }), replace })
  }
  const columns: Array<Column<Grant>> = [
    { id: 'subject', title: t.grants.subject, width: 'minmax(0, 1fr)', cell: g => <SubjectLink org={org} of={g.subject} /> },
    { id: 'what', title: t.grants.what, width: 'minmax(0, 1.2fr)', cell: g => <What of={g} /> },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1.2fr)', cell: g => <ScopeLink org={org} of={g.scope} /> },
    { id: 'until', title: t.grants.until, width: '108px', cell: g => <Until at={g.expiresAt} /> },
    { id: 'made', title: t.grants.made, width: '108px', least: true, cell: g => <span className="dim"><Time at={g.createdAt} date /></span> },
  ]
  const mayGive = holds(me.data, grantsKey) === 'yes'
  const mayOne = mayGive || holdsAnywhere(me.data, 'cloud.applications.manage_access')
  const reason = !mayGive ? t.needs(grantsKey) : chosen.size > atOnce ? t.grants.tooMany(atOnce) : null
  const take = (how: 'remove' | 'expiry' | 'swap') => setTaking({ how, grants: pages.list.filter(g => chosen.has(g.id)) })
  const close = () => void navigate({ search: old => ({ ...old, open: undefined }), replace: true })
  async function copy() {
    await navigator.clipboard.writeText(applyFile(pages.list.filter(g => chosen.has(g.id))))
    say(t.grants.copied(chosen.size))
  }
  async function takeAway() {
    if (!taking) return
    const body = { ...(home ? { application: home } : {}), delete: taking.grants.map(g => g.id) }
    await once(body, key => call('POST /orgs/{org}/org/grants/change', { path: { org }, body }, { key }))
    say(t.grants.gone(taking.grants.length))
    taken()
  }
  function taken() {
    setTaking(null)
    setChosen(new Set())
    void queries.resetQueries({ predicate: q => q.queryKey[0] !== 'session' && q.queryKey[2] === 'pages' })
    void readAnew()
  }
  return (
    <Page
      title={t.grants.title} lead={home ? t.grants.leadApp : t.grants.lead} full
      actions={
        <>
          {mayGive && <Link className="button" to="/orgs/$org/grants/many" params={{ org }}>{gr.many}</Link>}
          {mayOne ? <Link className="button main" to="/orgs/$org/grants/new" params={{ org }}>{t.grants.new}</Link> : <Button reason={t.needs(grantsKey)}>{t.grants.new}</Button>}
        </>
      }
    >
      <div className="filters">
        <Homes org={org} home={home} onChange={home => set({ home, scope: undefined }, false)} />
        <Filter first label={t.grants.subject} placeholder={t.grants.subjectHint} value={subject} onChange={subject => set({ subject })} />
        <Filter label={t.grants.role} placeholder={t.grants.roleHint} value={role} onChange={role => set({ role })} />
        {home && <Filter mono label={t.grants.scope} placeholder={t.grants.scopeHint} value={scope} onChange={scope => set({ scope })} />}
      </div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <div className={open ? 'beside open' : 'beside'}>
          <Grid
            label={t.grants.title} columns={open ? columns.slice(0, 3) : columns} rowId={g => g.id} {...pages.grid} total={total} chosen={chosen} onChoose={setChosen}
            onOpen={g => void navigate({ search: old => ({ ...old, open: g.id }), replace: !!open })}
            empty={<Empty title={subject || role || scope ? t.grid.hidden : t.grants.none} />}
            foot={chosen.size > 0 && (
              <span className="row">
                {t.grants.chosen(chosen.size)}
                <Button small onPress={() => void copy()}>{t.grants.copy}</Button>
                <Button small reason={reason} onPress={() => take('expiry')}>{gr.expiry}</Button>
                <Button small reason={reason} onPress={() => take('swap')}>{gr.swap}</Button>
                <Button small kind="danger" reason={reason} onPress={() => take('remove')}>{t.grants.remove}</Button>
                <Button small kind="bare" onPress={() => setChosen(new Set())}>{t.grants.clear}</Button>
              </span>
            )}
          />
          {open && <OneGrant key={open} org={org} id={open} home={home} onClose={close} />}
          {taking?.how === 'remove' && <TakeAway org={org} grants={taking.grants} home={home} onSure={takeAway} onEnd={() => setTaking(null)} />}
          {taking?.how === 'expiry' && <Expiry org={org} grants={taking.grants} home={home} onDone={taken} onEnd={() => setTaking(null)} />}
          {taking?.how === 'swap' && <Swap org={org} grants={taking.grants} home={home} onDone={taken} onEnd={() => setTaking(null)} />}
        </div>
      )}
    </Page>
  )
}

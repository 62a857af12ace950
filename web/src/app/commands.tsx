import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { Dialog, Modal, ModalOverlay } from 'react-aria-components'
import { holds } from '../api/gates.ts'
import { useAsk, useMe, useOrg, useVocabulary } from '../api/queries.ts'
import { visible } from '../domain/visible.ts'
import { t } from '../text/en.ts'
import { useDebounced } from '../ui/useDebounced.ts'
import { places } from './places.ts'

interface Command {
  id: string
  group: string
  label: string
  note?: string
  go: () => void
}

/** Goes to a screen, a person, a group, a role or a key by its name. */
export function Commands({ isOpen, onOpenChange }: { isOpen: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <ModalOverlay className="veil" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Modal className="sheet goto">
        <Dialog aria-label={t.commands.open}>{({ close }) => <Search close={close} />}</Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function Search({ close }: { close: () => void }) {
  const org = useOrg()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const q = text.trim()
  const asked = useDebounced(q, 120)
  const me = useMe()
  const on = asked.length > 0 && holds(me.data, 'authz_internal.access.read') === 'yes'
  const find = { path: { org }, query: { q: asked, limit: 6 } }
  const people = useAsk('GET /orgs/{org}/org/users', find, { on, keep: true })
  const groups = useAsk('GET /orgs/{org}/org/groups', find, { on, keep: true })
  const roles = useAsk('GET /orgs/{org}/org/roles', find, { on, keep: true })
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }, { on: asked.length > 0 && holds(me.data, 'cloud.applications.read') === 'yes' })
  const words = useVocabulary()
  useEffect(() => setAt(0), [q])

  const has = (s: string) => s.toLowerCase().includes(q.toLowerCase())
  const list: Command[] = [
    ...places.flatMap(p => p.items).filter(i => !q || has(i.label)).map(i => ({ id: i.to, group: t.commands.screens, label: i.label, go: () => void navigate({ to: i.to, params: { org } }) })),
    ...(on ? (people.data?.users ?? []) : []).map(u => ({ id: 'p' + u.userId, group: t.places.people, label: u.userId, go: () => void navigate({ to: '/orgs/$org/people/$id', params: { org, id: u.userId } }) })),
    ...(on ? (groups.data?.groups ?? []) : []).map(g => ({ id: 'g' + g.id, group: t.places.groups, label: g.name, note: g.id, go: () => void navigate({ to: '/orgs/$org/groups/$id', params: { org, id: g.id } }) })),
    ...(on ? (roles.data?.roles ?? []) : []).map(r => ({ id: 'r' + r.id, group: t.places.roles, label: r.name, note: r.id, go: () => void navigate({ to: '/orgs/$org/roles/$id', params: { org, id: r.id } }) })),
    ...(q ? (apps.data?.applications ?? []) : []).filter(a => has(a.name) || has(a.id)).slice(0, 6).map(a => ({ id: 'a' + a.id, group: t.places.applications, label: a.name, note: a.id, go: () => void navigate({ to: '/orgs/$org/applications/$id', params: { org, id: a.id } }) })),
    ...(q.length > 1 ? (words.data?.leaves.filter(l => has(l.key)).slice(0, 6) ?? []) : []).map(l => ({ id: 'k' + l.key, group: t.commands.keys, label: l.key, note: l.description, go: () => void navigate({ to: '/orgs/$org/explain', params: { org }, search: { key: l.key } }) })),
  ]
  const chosen = list[Math.min(at, list.length - 1)]
  const run = (c: Command | undefined) => {
    if (!c) return
    close()
    c.go()
  }
  function onKeyDown(e: KeyboardEvent) {
    if (e.key === 'ArrowDown') setAt(i => Math.min(list.length - 1, i + 1))
    else if (e.key === 'ArrowUp') setAt(i => Math.max(0, i - 1))
    else if (e.key === 'Enter') run(chosen)
    else return
    e.preventDefault()
  }
  return (
    <>
      <input
        autoFocus role="combobox" aria-label={t.commands.open} aria-expanded="true" aria-controls="goto" aria-activedescendant={chosen && 'goto-' + chosen.id}
        placeholder={t.commands.hint} value={text} onChange={e => setText(e.target.value)} onKeyDown={onKeyDown} autoComplete="off" spellCheck={false}
      />
      <div id="goto" role="listbox" aria-label={t.commands.open}>
        {[...new Set(list.map(c => c.group))].map(group => (
          <div key={group} role="group" aria-label={group}>
            <div className="heading" aria-hidden="true">{group}</div>
            {list.filter(c => c.group === group).map(c => (
              <div key={c.id} id={'goto-' + c.id} role="option" aria-selected={c === chosen} className={c === chosen ? 'option lit' : 'option'} onClick={() => run(c)} ref={el => { if (c === chosen) el?.scrollIntoView({ block: 'nearest' }) }}>
                <span className="id">{visible(c.label)}</span>
                {c.note && <span className="dim cut">{visible(c.note)}</span>}
              </div>
            ))}
          </div>
        ))}
        </div>
      {list.length === 0 && <p className="option dim" role="status">{t.commands.none}</p>}
    </>
  )
}

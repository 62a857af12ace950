import { useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useMe } from '../../api/queries.ts'
import type { Group } from '../../api/schema.gen.ts'
import { beyond } from '../../domain/plans.ts'
import { t } from '../../text/en.ts'
import { g } from '../../text/groups.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { cycle } from '../../ui/Cycle.tsx'
import { Field } from '../../ui/Field.tsx'
import { Name, SubjectName } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan, type Step } from '../../ui/Plan.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Versions } from '../../ui/Versions.tsx'
import { End } from './End.tsx'
import { key } from './gate.ts'
import { Parents } from './Parents.tsx'

/** What can be changed of a group: its name, what it is in, and whether it is at all. */
export function Change({ org, group }: { org: string; group: Group }) {
  const me = useMe()
  const reason = holds(me.data, key) === 'yes' ? null : t.needs(key)
  return (
    <div className="columns">
      <About org={org} group={group} reason={reason} />
      <Above org={org} group={group} reason={reason} />
      <End org={org} group={group} reason={reason} />
    </div>
  )
}

interface Props {
  org: string
  /** As it is stored now. */
  group: Group
  reason: string | null
}

function About({ org, group, reason }: Props) {
  const [base, setBase] = useState(group) // what this form began from
  const [name, setName] = useState(group.name)
  const [description, setDescription] = useState(group.description ?? '')
  const [review, setReview] = useState(false)
  const same = name.trim() === base.name && description.trim() === (base.description ?? '')
  const moved = group.etag !== base.etag && (group.name !== base.name || (group.description ?? '') !== (base.description ?? ''))
  if (group.etag !== base.etag && !moved) setBase(group) // what this form shows is as it was
  const begin = (from: Group) => {
    setBase(from)
    setName(from.name)
    setDescription(from.description ?? '')
  }
  async function store() {
    const body = { ...(name.trim() !== base.name ? { name: name.trim() } : {}), ...(description.trim() !== (base.description ?? '') ? { description: description.trim() || null } : {}) }
    try {
      const told = await call('PATCH /orgs/{org}/org/groups/{id}', { path: { org, id: group.id }, body }, { ifMatch: base.etag })
      begin(told.group)
      say(g.renamed)
      setReview(false)
    } finally {
      void readAnew() // also after a refusal: both versions are shown then
    }
  }
  return (
    <form className="card form" onSubmit={e => (e.preventDefault(), setReview(true))}>
      <header><h2>{g.about}</h2></header>
      {moved && (
        <Versions
          rows={[
            { label: g.field.name, theirs: <Name of={group.name} />, mine: <Name of={name} /> },
            { label: g.field.about, theirs: <Name of={group.description ?? ''} />, mine: <Name of={description} /> },
          ].filter(r => r.theirs.props.of !== r.mine.props.of)}
          onTheirs={() => (begin(group), setReview(false))} onMine={() => (setBase(group), setReview(true))}
        />
      )}
      <Field label={t.groups.name}>{a => <input {...a} value={name} onChange={e => setName(e.target.value)} required autoComplete="off" />}</Field>
      <Field label={t.groups.about}>{a => <input {...a} value={description} onChange={e => setDescription(e.target.value)} autoComplete="off" />}</Field>
      <div className="row"><Button type="submit" reason={reason ?? (moved ? w.meanwhile : same ? w.unchanged : null)}>{g.rename}</Button></div>
      {review && !moved && (
        <Sure title={w.title} submit={g.store} onSure={store} onEnd={() => setReview(false)}>
          <Plan
            steps={[
              ...(name.trim() !== base.name ? [{ sign: '→' as const, text: <>{g.field.name}: <Name of={base.name} /> → <strong><Name of={name.trim()} /></strong></> }] : []),
              ...(description.trim() !== (base.description ?? '') ? [{ sign: '→' as const, text: <>{g.field.about}: <Name of={base.description || w.empty} /> → <strong><Name of={description.trim() || w.empty} /></strong></> }] : []),
            ]}
          />
          <p className="dim">{w.root} {g.rights}</p>
        </Sure>
      )}
    </form>
  )
}

function Above({ org, group, reason }: Props) {
  const [base, setBase] = useState(group)
  const [parents, setParents] = useState(group.parents)
  const [review, setReview] = useState(false)
  const joins = beyond(parents, base.parents)
  const leaves = beyond(base.parents, parents)
  const same = joins.length + leaves.length === 0
  const moved = group.etag !== base.etag && group.parents.join('\n') !== base.parents.join('\n')
  if (group.etag !== base.etag && !moved) setBase(group)
  const effects = useEffects(review && !moved ? { with: { groups: [{ groupId: group.id, parents }] } } : null)
  const begin = (from: Group) => {
    setBase(from)
    setParents(from.parents)
  }
  async function store() {
    try {
      const told = await call('PUT /orgs/{org}/org/groups/{id}/parents', { path: { org, id: group.id }, body: { parents } }, { ifMatch: base.etag })
      begin(told.group)
      say(g.saved)
      setReview(false)
    } finally {
      void readAnew()
    }
  }
  const steps: Step[] = [
    ...joins.map(p => ({ sign: '+' as const, text: <><Name of={group.name} /> {g.isIn} <SubjectName of={'group:' + p} /></> })),
    ...leaves.map(p => ({ sign: '−' as const, text: <><Name of={group.name} /> {g.isOut} <SubjectName of={'group:' + p} /></> })),
  ]
  return (
    <form className="card form" onSubmit={e => (e.preventDefault(), setReview(true))}>
      <header><h2>{g.parentsTitle}</h2></header>
      {moved && <Versions rows={[{ label: g.parents, theirs: <Name of={group.parents.join(', ') || w.empty} />, mine: <Name of={parents.join(', ') || w.empty} /> }]} onTheirs={() => (begin(group), setReview(false))} onMine={() => (setBase(group), setReview(true))} />}
      <Parents org={org} value={parents} onChange={setParents} />
      <div className="row"><Button type="submit" reason={reason ?? (moved ? w.meanwhile : same ? w.unchanged : null)}>{w.review}</Button></div>
      {review && !moved && (
        <Sure title={w.title} submit={g.store} reason={untilTold(effects)} onSure={store} onEnd={() => setReview(false)} about={failed => cycle(org, 'group', failed)}>
          <Plan steps={steps} />
          <p className="dim">{w.root}</p>
          <Impact of={effects} refused={failed => cycle(org, 'group', failed)} />
        </Sure>
      )}
    </form>
  )
}

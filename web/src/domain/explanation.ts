import type { Explained, Grant, Near, OwnExplanation, OwnRow, Revoke } from '../api/schema.gen.ts'

export interface Question {
  subject: string // user:ann or service:ci
  key: string
  scope: string
}

/** Why the host said what it said, in the order in which reasons count. */
export type Reason = 'granted' | 'implied' | 'inactive' | 'revoked' | 'expired' | 'elsewhere' | 'notGrantable' | 'lacking' | 'noGrant'

/** One way from the person to the key, a step a column. */
export interface Route {
  grant: Grant
  /** Groups, the person's own first; or the org or manager that the grant names. */
  through: string[]
  /** The role's name, "" where the grant names a pattern itself. */
  role: string
  pattern: string
}

export interface Steps {
  reason: Reason
  routes: Route[]
  revokes: Revoke[]
  expired: Grant[]
  chain: string[]
  near: Near | null
}

export function steps(question: Question, e: Explained): Steps {
  const near = e.near ?? null
  return {
    reason: reasonOf(e, near),
    routes: [...e.matchedGrants, ...e.impliedBy].map(g => route(question, e, g)),
    revokes: e.matchedRevokes,
    expired: e.expired ?? [],
    chain: e.objectClosure,
    near,
  }
}

/** What a caller is told of a check of their own, in the shape of what others are told: who
 *  made a row, when, and its id are left out. */
export function ofOneself(userId: string, own: OwnExplanation): Explained {
  const provenance = { kind: '' }
  const row = (r: OwnRow, i: number): Grant => {
    const { subject, roleId, pattern, scope, expiresAt } = r
    return { id: String(i), subject, scope, provenance, createdAt: 0, ...(roleId ? { roleId } : {}), ...(pattern ? { pattern } : {}), ...(expiresAt ? { expiresAt } : {}) }
  }
  const rows = own.by.map(row)
  return {
    active: own.active,
    allowed: own.allowed,
    implied: own.implied ?? false,
    matchedGrants: own.implied ? [] : rows,
    impliedBy: own.implied ? rows : [],
    matchedRevokes: own.revoked.map((r, i) => ({ id: String(i), userId, provenance, createdAt: 0, ...r })),
    expired: own.expired.map(row),
    objectClosure: own.objectClosure,
    requiresCondition: own.requiresCondition ?? false,
    paths: own.by.map((r, i) => ({ grantId: String(i), pattern: r.pattern ?? '', ...(r.roleName ? { roleName: r.roleName } : {}), ...(r.through ? { through: r.through } : {}) })),
  }
}

function reasonOf(e: Explained, near: Near | null): Reason {
  if (e.allowed) return e.implied ? 'implied' : 'granted'
  if (!e.active) return 'inactive'
  if (e.matchedRevokes.length) return 'revoked'
  if (e.expired?.length) return 'expired'
  if (near?.elsewhere?.length) return 'elsewhere'
  if (near?.notGrantable?.length) return 'notGrantable'
  if (near?.lacking?.length) return 'lacking'
  return 'noGrant'
}

function route(question: Question, e: Explained, grant: Grant): Route {
  const path = e.paths?.find(p => p.grantId === grant.id)
  const direct = grant.subject === question.subject
  const groups = path?.through ?? []
  return {
    grant,
    through: direct ? [] : groups.length ? groups : [grant.subject],
    role: path?.roleName ?? grant.roleId ?? '',
    pattern: path?.pattern ?? grant.pattern ?? '',
  }
}

/** The picture: nodes of five columns, each drawn once, and lines between them. */
export interface Picture {
  nodes: Node[]
  lines: Array<{ from: number; to: number; revoke: boolean }>
  lanes: number
  /** How many ways are not drawn. */
  more: number
}

export interface Node {
  column: 0 | 1 | 2 | 3 | 4
  lane: number
  kind: 'principal' | 'member' | 'direct' | 'grant' | 'revoke' | 'right' | 'key'
  label: string
  detail: string
}

const drawn = 6

export function picture(question: Question, s: Steps, direct: string): Picture {
  const nodes: Node[] = []
  const lines = new Map<string, { from: number; to: number; revoke: boolean }>()
  const used = [0, 0, 0, 0, 0]
  const node = (column: Node['column'], kind: Node['kind'], label: string, detail: string, own = '') => {
    const found = nodes.findIndex(n => n.column === column && n.kind === kind && n.label === label && n.detail === detail && !own)
    if (found >= 0) return found
    nodes.push({ column, kind, label, detail, lane: used[column]!++ })
    return nodes.length - 1
  }
  const line = (from: number, to: number, revoke = false) => lines.set(`${from} ${to}`, { from, to, revoke })
  const who = node(0, 'principal', question.subject, '')
  const key = node(4, 'key', question.key, question.scope)
  for (const r of s.revokes.slice(0, drawn)) {
    const row = node(2, 'revoke', r.scope, r.id, r.id)
    const what = node(3, 'revoke', r.pattern, '')
    const way = node(1, 'direct', direct, '') // a revoke names one person
    line(who, way)
    line(way, row, true)
    line(row, what, true)
    line(what, key, true)
  }
  for (const r of s.routes.slice(0, drawn)) {
    const way = r.through.length
      ? node(1, 'member', r.through[0]!, r.through.slice(1).join('\n'))
      : node(1, 'direct', direct, '')
    const row = node(2, 'grant', r.grant.scope, r.grant.id, r.grant.id)
    const what = node(3, 'right', r.role || r.pattern, r.role ? r.pattern : '')
    line(who, way)
    line(way, row)
    line(row, what)
    line(what, key)
  }
  return {
    nodes,
    lines: [...lines.values()],
    lanes: Math.max(1, ...used),
    more: Math.max(0, s.revokes.length - drawn) + Math.max(0, s.routes.length - drawn),
  }
}

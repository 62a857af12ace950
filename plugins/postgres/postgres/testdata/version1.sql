-- A database of schema version 1: no partitions, keys of one column, edges without
-- an order, an audit log without hashes, and none of the tables that version 2 added.
create table "AuthzGrant" ("id" text primary key, "subject" text not null, "roleId" text, "pattern" text, "scope" text not null,
  "expiresAt" bigint, "provenance" jsonb not null, "createdAt" bigint not null);
create index "AuthzGrant_subject_idx" on "AuthzGrant" ("subject");
create index "AuthzGrant_scope_idx" on "AuthzGrant" ("scope");
create index "AuthzGrant_roleId_idx" on "AuthzGrant" ("roleId");
create table "AuthzRevoke" ("id" text primary key, "userId" text not null, "pattern" text not null, "scope" text not null,
  "provenance" jsonb not null, "createdAt" bigint not null);
create index "AuthzRevoke_userId_idx" on "AuthzRevoke" ("userId");
create index "AuthzRevoke_scope_idx" on "AuthzRevoke" ("scope");
create table "AuthzRole" ("id" text primary key, "name" text not null, "description" text, "patterns" jsonb not null, "requestable" jsonb);
create table "AuthzGroup" ("id" text primary key, "name" text not null, "description" text, "virtual" boolean not null default false);
create table "AuthzGroupParent" ("childId" text not null, "parentId" text not null, primary key ("childId", "parentId"));
create index "AuthzGroupParent_parentId_idx" on "AuthzGroupParent" ("parentId");
create table "AuthzUser" ("userId" text primary key, "active" boolean not null, "orgIds" jsonb not null, "managerUserId" text);
create table "AuthzMembership" ("userId" text not null, "groupId" text not null, primary key ("userId", "groupId"));
create index "AuthzMembership_groupId_idx" on "AuthzMembership" ("groupId");
create table "AuthzRequest" ("id" text primary key, "requesterUserId" text not null, "roleId" text, "pattern" text, "scope" text not null,
  "proposedExpiresAt" bigint, "justification" jsonb not null, "state" text not null, "stageIndex" integer not null, "stages" jsonb not null,
  "decisions" jsonb not null, "createdAt" bigint not null, "decidedAt" bigint);
create index "AuthzRequest_state_idx" on "AuthzRequest" ("state");
create index "AuthzRequest_requesterUserId_idx" on "AuthzRequest" ("requesterUserId");
create table "AuthzCatalog" ("id" integer primary key default 1, "version" integer not null, "document" jsonb not null);
create table "AuthzAudit" ("id" text primary key, "at" bigint not null, "actor" text not null, "action" text not null, "target" text not null, "detail" jsonb);
create index "AuthzAudit_target_idx" on "AuthzAudit" ("target");
create index "AuthzAudit_actor_idx" on "AuthzAudit" ("actor");
create table "AuthzCatalogVersion" ("version" integer primary key, "document" jsonb not null, "publishedAt" bigint not null);
create table "AuthzImports" ("id" integer primary key default 1, "version" integer not null, "manifest" jsonb not null);
create table "AuthzEpoch" ("id" integer primary key default 1, "seq" bigint not null, "prunedThrough" bigint not null default 0);
create table "AuthzEvent" ("seq" bigint primary key, "type" text not null, "payload" jsonb not null, "at" bigint not null);
create index "AuthzEvent_at_idx" on "AuthzEvent" ("at");
create table "AuthzMetric" ("bucket" bigint not null, "dimension" text not null, "subject" text not null, "metric" text not null, "count" bigint not null,
  constraint "bucket_dimension_subject_metric" unique ("bucket", "dimension", "subject", "metric"));
create index "AuthzMetric_dimension_subject_idx" on "AuthzMetric" ("dimension", "subject");

insert into "AuthzGrant" values ('g1', 'user:Ann', 'r', null, '*', 99, '{"kind":"admin","actorUserId":"x"}', 1), ('g2', 'group:b', null, 'docs.*', 'docs.doc:1', null, '{"kind":"admin","actorUserId":"x"}', 2);
insert into "AuthzRevoke" values ('v1', 'Ann', 'docs.doc.read', '*', '{"kind":"admin","actorUserId":"x"}', 3);
insert into "AuthzRole" values ('r', 'Reader', null, '["docs.doc.read"]', null);
insert into "AuthzGroup" values ('b', 'B', null, false), ('a', 'A', 'first', true);
insert into "AuthzGroupParent" values ('b', 'a');
insert into "AuthzUser" values ('Ann', true, '["o"]', 'ann'), ('ann', true, '[]', null);
insert into "AuthzMembership" values ('Ann', 'b');
insert into "AuthzRequest" values ('q1', 'Ann', 'r', null, '*', null, '{"why":"work"}', 'pending', 0, '[]', '[]', 5, null);
insert into "AuthzCatalog" values (1, 2, '{"namespace":"docs"}');
insert into "AuthzAudit" values ('a1', 7, 'user:Ann', 'createGrant', 'user:Ann', '{"n":1}');
insert into "AuthzCatalogVersion" values (1, '{"namespace":"docs"}', 100), (2, '{"namespace":"docs"}', 200);
insert into "AuthzImports" values (1, 3, '{"imports":[]}');
insert into "AuthzEpoch" values (1, 2, 1);
insert into "AuthzEvent" values (2, 'user', '{"userId":"Ann"}', 6);
insert into "AuthzMetric" values (0, 'grant', 'g1', 'matched', 4);

package words

import "github.com/authzhost/authz/sdk/authz"

// IDKinds are the members of operations and of audit details that hold bare ids, by whose
// they are.
var IDKinds = map[string]authz.SubjectKind{
	"userId": authz.SubjectUser, "managerUserId": authz.SubjectUser, "requesterUserId": authz.SubjectUser, "byUserId": authz.SubjectUser,
	"deciderUserId": authz.SubjectUser, "approverUserId": authz.SubjectUser, "actorUserId": authz.SubjectUser, "ownerUserId": authz.SubjectUser,
	"approvedBy": authz.SubjectUser, "userIds": authz.SubjectUser, "users": authz.SubjectUser, "groupId": authz.SubjectGroup,
	"groupIds": authz.SubjectGroup, "serviceId": authz.SubjectService, "orgs": authz.SubjectOrg,
}

export async function listOrders() {
  return [];
}
export async function refund(request: Request) {
  return request.json();
}

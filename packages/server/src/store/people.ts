import type { Role } from "@outrider/contract/person";
import type { Sql } from "./db.ts";

export interface Person {
  uid: string;
  email: string;
  display_name: string;
  role: Role;
}

export async function insertPerson(sql: Sql, person: Person): Promise<boolean> {
  const { count } = await sql`
    insert into people ${sql(person, "uid", "email", "display_name", "role")} on conflict do nothing`;
  return count > 0;
}

export async function listPeople(sql: Sql): Promise<Person[]> {
  return sql<Person[]>`select uid, email, display_name, role from people order by lower(email)`;
}

export async function findPersonByEmail(sql: Sql, email: string): Promise<Person | undefined> {
  const [row] = await sql<Person[]>`
    select uid, email, display_name, role from people where lower(email) = lower(${email})`;
  return row;
}

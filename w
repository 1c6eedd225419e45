<?xml version="1.0"?>
<robot name="pendulum">
  <link name="world"/>
  <link name="link1">
    <inertial>
      <origin xyz="0.0 0.0 -0.5" rpy="0.0 0.0 0.0"/>
      <mass value="1.0"/>
      <inertia ixx="0.08333333333333333" ixy="0.0" ixz="0.0" iyy="0.08333333333333333" iyz="0.0" izz="0.0002"/>
    </inertial>
    <visual>
      <origin xyz="0.0 0.0 -0.5" rpy="3.141592653589793 0.0 0.0"/>
      <geometry>
        <capsule radius="0.02" length="1.0"/>
      </geometry>
    </visual>
  </link>
  <link name="link2">
    <inertial>
      <origin xyz="0.0 0.0 -0.5" rpy="0.0 0.0 0.0"/>
      <mass value="1.0"/>
      <inertia ixx="0.08333333333333333" ixy="0.0" ixz="0.0" iyy="0.08333333333333333" iyz="0.0" izz="0.0002"/>
    </inertial>
    <visual>
      <origin xyz="0.0 0.0 -0.5" rpy="3.141592653589793 0.0 0.0"/>
      <geometry>
        <capsule radius="0.02" length="1.0"/>
      </geometry>
    </visual>
  </link>
  <joint name="joint1" type="continuous">
    <parent link="world"/>
    <child link="link1"/>
    <axis xyz="0.0 1.0 0.0"/>
  </joint>
  <joint name="joint2" type="continuous">
    <parent link="link1"/>
    <child link="link2"/>
    <origin xyz="0.0 0.0 -1.0" rpy="0.0 0.0 0.0"/>
    <axis xyz="0.0 1.0 0.0"/>
  </joint>
</robot>
